import { randomBytes } from 'node:crypto'
import type { DataSource, ObjectLiteral, QueryBuilder } from 'typeorm'
import { dialectOf } from '../dialect/dialect-of'
import { withComment } from '../dialect/statement-comment'
import type { DbSession } from './db-session'
import type { Source, Statement } from './statement-cache'

/** Adds a value to those of a statement. @returns what stands for it in the text */
export type Bind = (value: unknown) => string

/** Gathers values in the order in which they are bound. */
export function gather(): { readonly values: readonly unknown[]; readonly bind: Bind } {
  const values: unknown[] = []
  return { values, bind: (value) => nameOf(values.push(value) - 1) }
}

/** Begins the names of parameters. TypeORM replaces names in quoted identifiers too: no column can have this one in its own. */
export const parameterPrefix = `tr${randomBytes(6).toString('hex')}_`

/** Placeholder for the value of this index, from 0, until TypeORM writes that of the driver. */
function nameOf(index: number): string {
  return `:${parameterPrefix}${index}`
}

/**
 * The statement of a cache key, from memory or compiled.
 * @param key says everything that the text depends on; undefined for a statement that is compiled each time
 */
export function statementOf({ statements }: DbSession, key: string | undefined, compileIt: () => Statement): Statement {
  if (key === undefined) return compileIt()
  const known = statements.get(key)
  if (known !== undefined) return known
  const statement = compileIt()
  statements.set(key, statement)
  return statement
}

/**
 * Has TypeORM write the text.
 * @param count how many values have been bound
 * @param tail what follows the builder's own text, as ` LIMIT :tr…_0`
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
  return {
    sql: withComment(lead + sql),
    sources: sources as readonly Source[],
  }
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
