import { apiKeyActions, areApiKeyPermissions, parseJson } from '../access/api-keys/api-key'
import type { Report } from '../errors'
import { refuse, type ValueType } from '../value/value-type'
import type { MountContext } from './context'
import { buildField, type Field } from './field'
import type { ColumnMetadata } from './metadata'
import { isSameColumn } from './property'
import type { Registration } from './registration'
import type { ApiKeyFields, ResourceView } from './resource-view'

/** The API keys of a mount. */
type Context = Pick<MountContext, 'apiKeys'>

/**
 * The field as requests may use it: the service alone writes the prefix, the hash and the last use of an API key, its
 * user does not change, and its permissions are checked. Fields of other columns are returned unchanged.
 */
export function restrictApiKeyField(field: Field, { apiKeys }: Context): Field {
  const isIn = (own: readonly (ColumnMetadata | undefined)[]): boolean =>
    field.columns.some(({ column }) => own.some((other) => isSameColumn(column, other)))
  for (const { prefix, hash, lastUsed, permissions, user } of apiKeys) {
    if (isIn([prefix.column, hash.column, lastUsed?.column])) {
      return { ...field, insertable: false, updatable: false, required: false }
    }
    if (isIn(user.joinColumns)) return { ...field, updatable: false }
    if (isIn([permissions?.column])) return { ...field, valueType: permissionsType(field.valueType) }
  }
  return field
}

/** The value type of permissions in a column of JSON or text. */
function permissionsType(stored: ValueType): ValueType {
  const actions = apiKeyActions.map((action) => `"${action}"`).join(', ')
  const description = `an object of lists of actions, such as {"task": ["read"]}; actions: ${actions}`
  const isText = stored.name === 'text'
  const json = isText ? 'JSON text of ' : ''
  const fromJson: ValueType['fromJson'] = (value) => {
    const permissions = isText ? parseJson(value) : value
    return areApiKeyPermissions(permissions) ? stored.fromJson(value) : refuse(json + description)
  }
  if (isText) return { ...stored, description: json + description, fromJson }
  const schema = {
    type: 'object',
    additionalProperties: { type: 'array', items: { type: 'string', enum: [...apiKeyActions] } },
    examples: [{ task: ['read', 'create'] }],
  }
  return { ...stored, description, inputSchema: schema, fromJson }
}

/** @returns undefined for an entity that has no API keys */
export function buildApiKeyFields({ metadata }: Registration, { apiKeys }: Context): ApiKeyFields | undefined {
  const source = apiKeys.find((one) => one.metadata === metadata)
  if (source === undefined) return undefined
  return {
    prefix: buildField([source.prefix], { password: false, metadata, returnsKeys: true }),
    hash: buildField([source.hash], { password: false, metadata, returnsKeys: true }),
    user: source.user.joinColumns,
  }
}

/** Reports a resource with API keys that lets users create keys of others, or whose new records would have two keys. */
export function checkApiKeyResource(
  { metadata, options }: Registration,
  { rule, owner, outputFields, writableFields, writable }: ResourceView,
  { apiKeys }: Context,
  report: Report,
): void {
  const source = apiKeys.find((one) => one.metadata === metadata)
  if (source === undefined) return
  if (outputFields.some(({ path }) => path[0] === 'key')) {
    report('a field has the name "key", under which a new record shows its API key: set another name with "rename"')
  }
  const isUser = ({ columns, insertable }: Field): boolean =>
    insertable && columns.some(({ column }) => source.user.joinColumns.includes(column))
  const mayChooseUser = [...writableFields.values()].some((field) => isUser(field) && field !== owner)
  const isRestricted = rule.needs === 'admins' || options.may?.create !== undefined || options.preset !== undefined
  if (!writable || !mayChooseUser || isRestricted) return
  const owned = `ownerField: "${source.user.propertyPath}"`
  report(`every user could create API keys of other users: set ${owned}, auth: adminRule(), "may" or "preset"`)
}
