import { hash } from 'node:crypto'
import { Column, DefaultNamingStrategy, getMetadataArgsStorage, Index, type NamingStrategyInterface } from 'typeorm'
import { isMariadb, isSqlite, leg } from './leg'
import { canaries } from './seed'

/**
 * Variations of the declarations of entities, which depend only on a seed. The functions must be called before the data source is
 * initialized.
 */

/** Seed of the varied declarations: that of the leg, but never 0, which means unchanged declarations. */
export const variedSeed: number = leg.seed === 0 ? 8 : leg.seed

type EntityClass = abstract new (...parameters: never[]) => object

/** Hash that gives names a different order for each seed. */
const rankOf = (seed: number, ...names: readonly string[]): string => hash('sha256', [seed, ...names].join('\n'))

/** One of the items, which depends on seed and name. */
export function pick<T>(items: readonly [T, ...T[]], seed: number, name: string): T {
  return items[Number.parseInt(rankOf(seed, name).slice(0, 8), 16) % items.length] ?? items[0]
}

/**
 * Declares the columns of all entities in another order, as if their decorators had that order in the class. The columns of a key keep
 * their order, which is the order of the key's parts in URLs.
 */
export function shuffleColumns(seed: number): void {
  if (seed === 0) return
  const { columns } = getMetadataArgsStorage()
  const nameOf = (target: string | object): string => (typeof target === 'function' ? target.name : String(target))
  const keyOf = ({ target, propertyName }: (typeof columns)[number]): string => `${nameOf(target)} ${propertyName}`
  const keys = new Set(columns.filter(({ options }) => options.primary).map(keyOf))
  // All decorators of one property have the same rank, and so have all columns of one key.
  const ranked = columns.map((column) => {
    const name = keys.has(keyOf(column)) ? 'key' : column.propertyName
    return { column, rank: rankOf(seed, nameOf(column.target), name) }
  })
  ranked.sort((one, other) => (one.rank < other.rank ? -1 : one.rank > other.rank ? 1 : 0))
  columns.splice(0, columns.length, ...ranked.map(({ column }) => column))
}

/** Adds hidden columns to entities: a text that is in {@link canaries}, a flag and a number. */
export function addHiddenColumns(entities: readonly EntityClass[]): void {
  for (const { prototype } of entities) {
    Column({ type: 'varchar', length: 20, default: canaries[0], select: false })(prototype, 'hiddenText')
    Column({ type: 'boolean', default: true, select: false })(prototype, 'hiddenFlag')
    Column({ type: 'int', default: 4711, select: false })(prototype, 'hiddenNumber')
  }
}

/** Declares an index on the foreign key of a relation, or not: the service reads included lists with different SQL. */
export function VariedIndex(): PropertyDecorator {
  return (target, property) => {
    const name = `${target.constructor.name}.${String(property)}`
    if (pick([true, false], variedSeed, name)) Index()(target, property)
  }
}

/** Types of generated keys. */
export const keyTypes = ['integer', 'bigint', 'uuid'] as const
export type KeyType = (typeof keyTypes)[number]

/** Changes the type of a generated key. */
export function changeKeyType(entity: EntityClass, type: KeyType): void {
  const { columns, generations } = getMetadataArgsStorage()
  const key = columns.find(({ target, options }) => target === entity && options.primary)
  const generation = generations.find(({ target }) => target === entity)
  if (key === undefined || generation === undefined) throw new Error(`${entity.name} has no generated key`)
  // SQLite generates keys of the type integer only, which have 64 bits there.
  key.options.type = type === 'bigint' && isSqlite ? 'integer' : type
  if (type === 'uuid') Object.assign(generation, { strategy: 'uuid' })
}

/** Converts the number of a record in a table of tests to a key. */
export function keyOf(type: KeyType, number: number): number | string {
  return type === 'uuid' ? `00000000-0000-4000-8000-${String(number).padStart(12, '0')}` : number
}

/**
 * Patterns of names that must be quoted, with `*` for the usual name. TypeORM cannot create tables or columns whose names contain the
 * database's quote character, an apostrophe before a letter, a dot, or the name of a column in parentheses.
 */
const patterns: readonly [string, ...string[]] = [
  '*',
  'The *',
  ' *',
  '*-*',
  "*''",
  isMariadb ? '"*"' : '`*`',
  '[*]',
  '*$1',
  '*?',
  '*:a',
  '*::int',
  '*;--',
  '*/*',
  '%*%',
  '*, *',
  '* ASC',
  '*ß',
  '名*',
  '@*',
  '#*',
  '0*',
  '*=*',
  '*{}',
]
/** Reserved words. Each is used for one name at most, so that no table has it twice. */
const words = ['order', 'SELECT', 'from', 'Group', 'table', 'user', 'null', 'limit', 'key', 'index', 'default', 'check']

/**
 * Naming strategy under which all names of tables and columns must be quoted: reserved words, spaces, quotes, upper case, other scripts.
 * Names that an entity declares stay the same.
 */
export function unusualNames(seed: number): NamingStrategyInterface {
  const unused = [...words]
  const known = new Map<string, string>()
  const taken = new Set<string>()
  const spell = (name: string): string => {
    const isWord = unused.length > 0 && pick([true, false, false], seed, `word ${name}`)
    const spelled = known.get(name) ?? distinct((isWord ? unused.shift() : undefined) ?? spellBy(name))
    known.set(name, spelled)
    return spelled
  }
  /** A reserved word can be the name of another property. MariaDB ignores the case of column names. */
  const distinct = (name: string): string => {
    if (taken.has(name.toLowerCase())) return distinct(`${name} 2`)
    taken.add(name.toLowerCase())
    return name
  }
  const spellBy = (name: string): string => {
    const cased = pick([true, false], seed, `case ${name}`) ? name.toUpperCase() : name
    return pick(patterns, seed, name).replaceAll('*', () => cased)
  }
  return new (class extends DefaultNamingStrategy {
    override tableName(target: string, given: string | undefined): string {
      return given ?? spell(super.tableName(target, given))
    }
    override columnName(property: string, given: string | undefined, embedded: string[]): string {
      return given ?? spell(super.columnName(property, '', embedded))
    }
    override joinColumnName(...given: Parameters<DefaultNamingStrategy['joinColumnName']>): string {
      return spell(super.joinColumnName(...given))
    }
    override joinTableName(...given: Parameters<DefaultNamingStrategy['joinTableName']>): string {
      return spell(super.joinTableName(...given))
    }
    // TypeORM does not quote these names everywhere.
    override joinTableColumnName(...given: Parameters<DefaultNamingStrategy['joinTableColumnName']>): string {
      return super.joinTableColumnName(...given).replace(/[^\p{L}\d]/gu, '_')
    }
  })()
}
