import type { DataSource, EntityMetadata, RelationMetadata } from 'typeorm'
import { adminRule, type Rule, readOnlyRule, userRule } from '../access/rule'
import type { AccountSource } from './account-source'
import type { ColumnMetadata } from './column-kind'
import { buildField, type Field, fieldColumns, isNamed, optionNames, propertyOf } from './field'
import type { Registration } from './registration'
import type { Resource } from './registry'

/** What all resources of a mount are built with. */
export interface ResourceContext {
  readonly dataSource: DataSource
  readonly defaultAuth: Rule
  readonly accounts: AccountSource | undefined
  /** All resources, complete once the last one is built. */
  readonly byEntity: ReadonlyMap<EntityMetadata, Resource>
  /** Receives every mistake of the application, in a sentence each (D26). */
  readonly faults: string[]
}

const namePattern = /^[a-z0-9][a-z0-9_-]*$/

/**
 * Compiles one entity and its options.
 * @returns undefined when a fault leaves nothing to build
 */
export function buildResource(registration: Registration, context: ResourceContext): Resource | undefined {
  const { metadata, options } = registration
  const fault = (sentence: string): void => {
    context.faults.push(`${metadata.name}: ${sentence}`)
  }
  const name = options.name ?? metadata.name.toLowerCase()
  if (!namePattern.test(name)) {
    fault(`"${name}" cannot be a name in a path; give one of small letters, digits, "-" and "_" as option "name"`)
  }
  const columns = fieldColumns(metadata, context.dataSource)
  checkProperties(registration, columns, fault)

  const isPassword = (column: ColumnMetadata): boolean => isSameColumn(column, context.accounts?.password)
  const isHidden = (column: ColumnMetadata): boolean =>
    isNamed(column, options.exclude) || !column.isSelect || isPassword(column)
  const shown: Field[] = []
  const hidden: Field[] = []
  for (const column of columns) {
    const field = buildField(column, context.dataSource, options.readOnly, isPassword(column))
    if (typeof field !== 'string') (isHidden(column) ? hidden : shown).push(field)
    else if (!isHidden(column)) fault(field)
  }

  const key = findKey(registration, shown, hidden, fault)
  const rule = ruleOf(registration, context, fault)
  if (metadata.treeType !== undefined && rule?.writes !== false) {
    fault('it is a tree, whose bookkeeping this service does not write: give it readOnlyRule()')
  }
  const owner = findOwner(registration, [...shown, ...hidden], context, fault)
  if (key === undefined || rule === undefined) return undefined
  const record = recordFields(key, shown)
  checkNames(record, fault)
  return {
    name,
    metadata,
    rule,
    key,
    record,
    row: owner === undefined || record.includes(owner) ? record : [...record, owner],
    fields: namesOf(record),
    inputs: new Map([...hidden.filter((field) => field.insertable), ...record].map((field) => [field.name, field])),
    related: ({ relation }) => relation && context.byEntity.get(relation.inverseEntityMetadata),
    owner,
  }
}

/** Whether both are one column of one table, as a column and its copy in an entity that inherits the table. */
function isSameColumn(one: ColumnMetadata, other: ColumnMetadata | undefined): boolean {
  return one.entityMetadata.tablePath === other?.entityMetadata.tablePath && one.databaseName === other.databaseName
}

type Fault = (sentence: string) => void

function checkProperties({ metadata, options }: Registration, columns: readonly ColumnMetadata[], fault: Fault): void {
  const properties = new Set([
    ...metadata.columns.flatMap(optionNames),
    ...metadata.relations.map((relation) => relation.propertyPath),
  ])
  for (const option of ['exclude', 'readOnly'] as const) {
    for (const property of options[option] ?? []) {
      if (properties.has(property)) continue
      fault(`"${property}" in "${option}" is no property of it; properties: ${columns.map(propertyOf).join(', ')}`)
    }
  }
}

function findKey(
  { metadata, options }: Registration,
  shown: readonly Field[],
  hidden: readonly Field[],
  fault: Fault,
): Field | undefined {
  const [column, second] = metadata.primaryColumns
  if (column === undefined) {
    fault('it has no primary key to tell its records apart')
    return undefined
  }
  if (second !== undefined || column.referencedColumn !== undefined) {
    fault('a key of several columns, or one that is a relation, is not supported yet')
    return undefined
  }
  const key = shown.find((field) => field.column === column)
  if (key !== undefined && key.kind.inPath === undefined) {
    fault(`its key ${propertyOf(column)} must be ${key.kind.description}, which cannot stand in a path`)
  }
  if (key === undefined && (hidden.some((field) => field.column === column) || isNamed(column, options.exclude))) {
    fault(`"${propertyOf(column)}" is its key, which cannot be hidden: every record shows it as "id"`)
  }
  return key
}

/** A key of another name is shown as `id` too (spec.md, Record representation). */
function recordFields(key: Field, shown: readonly Field[]): readonly Field[] {
  const others = shown.filter((field) => field !== key)
  if (key.name === 'id') return [key, ...others]
  return [{ ...key, name: 'id', required: false, insertable: false }, key, ...others]
}

function checkNames(fields: readonly Field[], fault: Fault): void {
  const seen = new Map<string, Field>()
  for (const field of fields) {
    const other = seen.get(field.name)
    if (other === undefined) seen.set(field.name, field)
    else fault(`${other.property} and ${field.property} would both be "${field.name}": exclude or rename one`)
  }
}

/** A foreign key can be named with and without `_id` (D15), unless a field has that name. */
function namesOf(record: readonly Field[]): ReadonlyMap<string, Field> {
  const references = record.filter((field) => field.relation !== undefined)
  return new Map([
    ...references.map((field) => [field.property, field] as const),
    ...record.map((field) => [field.name, field] as const),
  ])
}

function ruleOf({ options }: Registration, context: ResourceContext, fault: Fault): Rule | undefined {
  // A module that is still loading, in a circle of imports, must not open a resource.
  if ('auth' in options && !options.auth) fault('"auth" is given and empty; do modules import each other in a circle?')
  const rule = options.auth ?? (options.ownerField === undefined ? context.defaultAuth : userRule())
  if (typeof rule !== 'function') {
    fault('"auth" must be a rule, as userRule() or a function that answers with the principal')
    return undefined
  }
  const uncalled = [readOnlyRule, userRule, adminRule].find((factory) => Object.is(factory, rule))
  if (uncalled !== undefined) fault(`"auth" is ${uncalled.name} itself; call it: ${uncalled.name}()`)
  const title = rule.title ?? rule.name
  if (rule.needs !== undefined && context.accounts === undefined) {
    fault(`its rule (${title}) needs users; put @UserAccount on their entity or give the option "users"`)
  } else if (rule.needs === 'admins' && context.accounts?.admin === undefined) {
    fault(`its rule (${title}) needs to know administrators; name their property in @UserAccount({ admin })`)
  }
  return rule
}

function findOwner(
  { metadata, options }: Registration,
  fields: readonly Field[],
  { accounts }: ResourceContext,
  fault: Fault,
): Field | undefined {
  if (options.ownerField === undefined) return undefined
  const users = accounts?.metadata
  const isToUser = ({ isManyToOne, inverseEntityMetadata, joinColumns }: RelationMetadata): boolean =>
    isManyToOne &&
    (users === undefined || inverseEntityMetadata === users) &&
    joinColumns.every(({ referencedColumn }) => referencedColumn?.isPrimary)
  const owner = fields.find((field) => field.property === options.ownerField)
  if (owner?.relation && isToUser(owner.relation)) return owner
  const allowed = metadata.relations.filter(isToUser).map((relation) => relation.propertyPath)
  const suggestion = allowed.length > 0 ? `; such are: ${allowed.join(', ')}` : ''
  fault(
    `"ownerField" is "${options.ownerField}", which is no many-to-one to the key of ${users?.name ?? 'an entity'}${suggestion}`,
  )
  return undefined
}
