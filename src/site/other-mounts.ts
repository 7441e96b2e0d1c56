import type { DataSource } from 'typeorm'
import { ConfigError } from '../errors'
import { isSameColumn } from '../schema/property'
import type { Registry, ResourceView } from '../schema/resource-view'
import { sharedByCopies } from '../shared-state'
import type { MountSettings } from './mount-options'

/** What a mount serves, and which tables its options `users` and `audit` protect. */
interface ServedMount extends Pick<Registry, 'resources' | 'accounts'> {
  readonly base: string
  /** Path of the table of the audit log; undefined without an audit log. */
  readonly auditTable: string | undefined
}

/** The mounts of each data source, by their settings. */
const mountsByDataSource = sharedByCopies(
  'servedMounts',
  () => new WeakMap<DataSource, Map<MountSettings, ServedMount>>(),
)

/**
 * Requires that no mount of a data source serves what the options of another one protect. The decorators `@UserAccount` and
 * `@ApiKeys` apply to all mounts of a data source, but the options `users` and `audit` apply to one. Through a mount without
 * them, clients could read the hashes of passwords, or change entries of the audit log.
 * @throws {ConfigError}
 */
export function requireSameProtection(
  dataSource: DataSource,
  settings: MountSettings,
  { resources, accounts }: Registry,
): void {
  const { base, audit } = settings
  const auditTable = audit && dataSource.getMetadata(audit.entity).tablePath
  const own: ServedMount = { base, resources, accounts, auditTable }
  const mounts = mountsByDataSource.get(dataSource) ?? new Map<MountSettings, ServedMount>()
  mounts.delete(settings)
  const mistakes = [...mounts.values()].flatMap((other) => [...mistakesOf(own, other), ...mistakesOf(other, own)])
  if (mistakes.length > 0) throw new ConfigError(mistakes)
  mountsByDataSource.set(dataSource, mounts.set(settings, own))
}

/** The mistakes of a mount that serves what another one protects. */
function mistakesOf(mount: ServedMount, { base, accounts, auditTable }: ServedMount): readonly string[] {
  const { auditTable: ownAuditTable } = mount
  return [...mount.resources.values()].flatMap((view) => {
    const { name } = view.metadata
    const advice = (option: string): string => `set the option "${option}" of the mount at ${mount.base}/ too`
    return [
      ...(servesPassword(view, mount.accounts, accounts)
        ? [`${name} has the passwords of the users of the mount at ${base}/: ${advice('users')}`]
        : []),
      ...(auditTable === view.metadata.tablePath && auditTable !== ownAuditTable && isWritableByDefault(view)
        ? [`${name} is the audit log of the mount at ${base}/: ${advice('audit')}, or forbid writes with "may"`]
        : []),
    ]
  })
}

/** Whether records show passwords, or requests can store them without hashing them. */
function servesPassword(
  { outputFields, writableFields, writable }: ResourceView,
  own: Registry['accounts'],
  accounts: Registry['accounts'],
): boolean {
  const password = accounts?.password
  if (password === undefined || (own !== undefined && isSameColumn(own.password, password))) return false
  return [...outputFields, ...(writable ? writableFields.values() : [])].some(({ columns }) =>
    columns.some(({ column }) => isSameColumn(column, password)),
  )
}

/** Whether a resource permits a write that its option `may` does not mention. */
function isWritableByDefault({ writable, may }: ResourceView): boolean {
  return writable && (['create', 'update', 'delete'] as const).some((action) => may[action] === undefined)
}
