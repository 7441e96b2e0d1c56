import { LRUCache } from 'lru-cache'
import type { DataSource, ObjectLiteral, QueryBuilder } from 'typeorm'
import { memoize } from '../schema/memoize'
import { dialectOf } from './dialect-of'
import { withComment } from './statement-comment'

/** SQL with placeholders, and where their values come from: what TypeORM is asked for once, for all requests of one shape. */
export interface Statement {
  readonly sql: string
  /** In the order of the placeholders. */
  readonly sources: readonly Source[]
}

/** One of the values that the statement is run with, or always the same. */
interface Source {
  /** Of the value; undefined for what is always the same. */
  readonly index: number | undefined
  readonly constant: unknown
}

/** Adds a value to those of a statement. @returns what stands for it in the text */
export type Bind = (value: unknown) => string

/** Gathers values in the order in which they are bound. */
export function gather(): { readonly values: readonly unknown[]; readonly bind: Bind } {
  const values: unknown[] = []
  return { values, bind: (value) => nameOf(values.push(value) - 1) }
}

/** Stands for the value of this index, from 0. */
function nameOf(index: number): string {
  return `:tr_${index}`
}

/** Shapes of statements that are remembered for one resource. */
const most = 256

/**
 * The statement of a shape, from memory or compiled.
 * @param owner whose it is: forgotten with it
 * @param shape says everything that the text depends on; undefined for what is compiled each time
 */
export function statementOf(owner: object, shape: string | undefined, compileIt: () => Statement): Statement {
  if (shape === undefined) return compileIt()
  const known = statementsOf(owner)
  const remembered = known.get(shape)
  if (remembered !== undefined) return remembered
  const statement = compileIt()
  known.set(shape, statement)
  return statement
}

const statementsOf = memoize((_: object) => new LRUCache<string, Statement>({ max: most }))

/**
 * Has TypeORM write the text.
 * @param count how many values have been bound
 * @param tail what follows the builder's own text, as ` LIMIT :tr_0`
 */
export function compile(
  dataSource: DataSource,
  builder: QueryBuilder<ObjectLiteral>,
  count: number,
  tail = '',
): Statement {
  const text = builder.getQuery() + tail
  const constants = Object.entries(builder.getParameters()).map(([name, constant]) => [name, toSource(constant)])
  const bound = Array.from({ length: count }, (_, index) => [nameOf(index).slice(1), { index, constant: undefined }])
  const named = Object.fromEntries([...constants, ...bound])
  // Objects, of which TypeORM writes none into the text, come back in the order of the placeholders.
  const [sql, sources] = placeholders(dataSource, text, named)
  // The sqlite3 driver of TypeORM 0.3 reads no rows of what begins with INSERT, UPDATE or DELETE.
  const lead = tail !== '' && isSqlite3(dataSource) ? ' ' : ''
  return { sql: withComment(lead + sql), sources: sources as readonly Source[] }
}

/** The members of an array may be spread over placeholders. */
function toSource(constant: unknown): Source | readonly Source[] {
  if (Array.isArray(constant)) return constant.map((member) => ({ index: undefined, constant: member }))
  return { index: undefined, constant }
}

/** What the driver is given for the placeholders. */
export function parametersOf(dataSource: DataSource, { sources }: Statement, values: readonly unknown[]): unknown[] {
  const { parameter } = dialectOf(dataSource)
  return sources.map(({ index, constant }) => parameter(index === undefined ? constant : values[index]))
}

/** TypeORM 1 has that driver no more, nor its name. */
function isSqlite3({ options }: DataSource): boolean {
  return String(options.type) === 'sqlite'
}

/** Puts the driver's placeholders for named parameters. TypeORM 0.3 wants a third argument, which later ones leave out. */
function placeholders({ driver }: DataSource, query: string, named: ObjectLiteral): [string, unknown[]] {
  const escapeQuery: (query: string, named: ObjectLiteral, native: ObjectLiteral) => [string, unknown[]] =
    driver.escapeQueryWithParameters.bind(driver)
  return escapeQuery(query, named, {})
}
