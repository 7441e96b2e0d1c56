import { hash } from 'node:crypto'
import { Column, DefaultNamingStrategy, getMetadataArgsStorage, type NamingStrategyInterface } from 'typeorm'
import { isMariadb, isSqlite, leg } from './leg'
import { canaries } from './seed'

/**
 * Varies how entities are declared, always in the same way for the same seed. All of it must be called before the data source is
 * initialized.
 */

/** The leg's seed; another one where that stands for entities as they are declared. */
export const variedSeed: number = leg.seed === 0 ? 8 : leg.seed

type EntityClass = abstract new (...parameters: never[]) => object

/** Text that puts things in another order for each seed. */
const rankOf = (seed: number, ...names: readonly string[]): string => hash('sha256', [seed, ...names].join('\n'))

/** One of the items, another for each seed and name. */
export function pick<T>(items: readonly [T, ...T[]], seed: number, name: string): T {
  return items[Number.parseInt(rankOf(seed, name).slice(0, 8), 16) % items.length] ?? items[0]
}

/**
 * Declares the columns of all entities in another order, as if their decorators were in that order in the class. The columns of a key
 * keep theirs, which is the order of its parts in a URL.
 */
export function shuffleColumns(seed: number): void {
  if (seed === 0) return
  const { columns } = getMetadataArgsStorage()
  const nameOf = (target: string | object): string => (typeof target === 'function' ? target.name : String(target))
  const keyOf = ({ target, propertyName }: (typeof columns)[number]): string => `${nameOf(target)} ${propertyName}`
  const keys = new Set(columns.filter(({ options }) => options.primary).map(keyOf))
  // What several decorators declare of one property has one rank, and so have the columns of one key.
  const ranked = columns.map((column) => {
    const name = keys.has(keyOf(column)) ? 'key' : column.propertyName
    return { column, rank: rankOf(seed, nameOf(column.target), name) }
  })
  ranked.sort((one, other) => (one.rank < other.rank ? -1 : one.rank > other.rank ? 1 : 0))
  columns.splice(0, columns.length, ...ranked.map(({ column }) => column))
}

/** Adds columns that no client may see: a text that {@link canaries} has, a flag and a number. */
export function addHiddenColumns(entities: readonly EntityClass[]): void {
  for (const { prototype } of entities) {
    Column({ type: 'varchar', length: 20, default: canaries[0], select: false })(prototype, 'hiddenText')
    Column({ type: 'boolean', default: true, select: false })(prototype, 'hiddenFlag')
    Column({ type: 'int', default: 4711, select: false })(prototype, 'hiddenNumber')
  }
}

export const keyTypes = ['integer', 'bigint', 'uuid'] as const
export type KeyType = (typeof keyTypes)[number]

/** Gives a generated key another type. */
export function changeKeyType(entity: EntityClass, type: KeyType): void {
  const { columns, generations } = getMetadataArgsStorage()
  const key = columns.find(({ target, options }) => target === entity && options.primary)
  const generation = generations.find(({ target }) => target === entity)
  if (key === undefined || generation === undefined) throw new Error(`${entity.name} has no generated key`)
  // SQLite generates keys of the type integer only, which have 64 bits there.
  key.options.type = type === 'bigint' && isSqlite ? 'integer' : type
  if (type === 'uuid') Object.assign(generation, { strategy: 'uuid' })
}

/** The key that stands for the number in a table of tests. */
export function keyOf(type: KeyType, number: number): number | string {
  return type === 'uuid' ? `00000000-0000-4000-8000-${String(number).padStart(12, '0')}` : number
}

/**
 * Names that must be quoted, with `*` for the usual name. TypeORM cannot create tables or columns whose names hold the quote of the
 * database, an apostrophe before a letter, a dot, or a column's name in parentheses.
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
/** Each is the name of one thing at most, so that no table has it twice. */
const words = ['order', 'SELECT', 'from', 'Group', 'table', 'user', 'null', 'limit', 'key', 'index', 'default', 'check']

/**
 * Names tables and columns that have no name of their own so that they must be quoted: reserved words, spaces, quotes, upper case,
 * other scripts.
 */
export function unusualNames(seed: number): NamingStrategyInterface {
  const unused = [...words]
  const known = new Map<string, string>()
  const spell = (name: string): string => {
    const isWord = unused.length > 0 && pick([true, false, false], seed, `word ${name}`)
    const spelled = known.get(name) ?? (isWord ? unused.shift() : undefined) ?? spellBy(name)
    known.set(name, spelled)
    return spelled
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
    // TypeORM does not quote them in every place.
    override joinTableColumnName(...given: Parameters<DefaultNamingStrategy['joinTableColumnName']>): string {
      return super.joinTableColumnName(...given).replace(/[^\p{L}\d]/gu, '_')
    }
  })()
}
