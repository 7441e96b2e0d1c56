import { randomBytes } from 'node:crypto'
import type { DataSource, EntityTarget, ObjectLiteral, QueryBuilder, SelectQueryBuilder } from 'typeorm'
import { dialectOf } from '../dialect/dialect-of'
import { withComment } from '../dialect/statement-comment'
import type { DbSession } from './db-session'
import type { Source, Statement } from './statement-cache'

/** Adds a value to the bound values of a statement. @returns the placeholder of the value in the SQL */
export type Bind = (value: unknown) => string

/**
 * Collects the values of a statement in the order in which they are bound.
 * @param count number of values that are bound already
 */
export function collectValues(count = 0): { readonly values: readonly unknown[]; readonly bind: Bind } {
  const values: unknown[] = []
  return { values, bind: (value) => placeholderOf(count + values.push(value) - 1) }
}

/**
 * Prefix of the names of parameters. It is random because TypeORM replaces `:name` inside quoted identifiers too: no
 * column name may contain it.
 */
export const parameterPrefix = `tr${randomBytes(6).toString('hex')}_`

/** Name of TypeORM's parameter for the discriminator values of a child entity. */
export const discriminatorValues = 'discriminatorColumnValues'

/**
 * Name of the parameter for discriminator values in a condition on a table that the statement joins. It depends on the values alone: the
 * row scope and a permission, which may be in one statement, use the same aliases.
 */
export function discriminatorParameter(values: readonly unknown[]): string {
  const texts = values.map((value) => `${typeof value} ${value}`)
  return `${parameterPrefix}types_${Buffer.from(JSON.stringify(texts)).toString('hex')}`
}

/**
 * TypeORM's placeholder for the value at an index (from 0), which `compile` replaces by the placeholder of the driver.
 */
function placeholderOf(index: number): string {
  return `:${parameterPrefix}${index}`
}

/** Adds a number to the index of each placeholder in SQL. */
export function shiftPlaceholders(text: string, offset: number): string {
  const [start = '', ...parts] = text.split(`:${parameterPrefix}`)
  // Each part begins with the digits of an index.
  return start + parts.map((part) => part.replace(/^\d+/, (index) => placeholderOf(Number(index) + offset))).join('')
}

/** The values of a statement by the names of their placeholders, for a query builder of the application. */
export function namedParameters(values: readonly unknown[]): ObjectLiteral {
  return Object.fromEntries(values.map((value, index) => [placeholderOf(index).slice(1), value]))
}

/**
 * Returns the statement of a cache key, from the cache or compiled.
 * @param key contains everything that the SQL depends on; undefined for a statement that is compiled each time
 */
export function cachedStatement(
  { statements }: DbSession,
  key: string | undefined,
  compileStatement: () => Statement,
): Statement {
  if (key === undefined) return compileStatement()
  const cached = statements.get(key)
  if (cached !== undefined) return cached
  const statement = compileStatement()
  statements.set(key, statement)
  return statement
}

/**
 * Starts a SELECT without columns, and without the ordering of `@Entity({ orderBy })`. TypeORM would add this ordering also
 * where databases do not accept one, as with COUNT and DISTINCT.
 */
export function selectFrom(
  dataSource: DataSource,
  entity: EntityTarget<ObjectLiteral>,
  alias: string,
): SelectQueryBuilder<ObjectLiteral> {
  return dataSource.createQueryBuilder(entity, alias).select([]).setOption('disable-global-order')
}

/**
 * Compiles a statement from TypeORM's query builder.
 * @param valueCount number of bound values
 * @param tail SQL after that of the builder, such as ` LIMIT ` and a placeholder
 */
export function compile(
  dataSource: DataSource,
  builder: QueryBuilder<ObjectLiteral>,
  valueCount: number,
  tail = '',
): Statement {
  return compileText(dataSource, builderSql(builder), builder.getParameters(), valueCount, tail)
}

/**
 * The SQL of a query builder. In an INSERT, UPDATE or DELETE, TypeORM would replace each word that is the name of a property
 * or a column, also in subqueries: with a column named `ORDER`, it would replace the word in `ORDER BY`. This service
 * escapes all names itself. TypeORM leaves only the name of the discriminator of a child entity without quotes.
 */
export function builderSql(builder: QueryBuilder<ObjectLiteral>): string {
  const { queryType, mainAlias } = builder.expressionMap
  if (queryType === 'select') return builder.getQuery()
  const discriminator = mainAlias?.metadata.discriminatorColumn?.databaseName ?? ''
  const escapeDiscriminator = (sql: string): string =>
    sql.replace(` ${discriminator} IN (:...${discriminatorValues})`, (condition) =>
      condition.replace(discriminator, () => builder.escape(discriminator)),
    )
  return Object.assign(builder, { replacePropertyNamesForTheWholeQuery: escapeDiscriminator }).getQuery()
}

/**
 * Compiles the SQL of a query builder, to which its caller may have added rows.
 * @param given values of the parameters that the builder has set
 */
export function compileText(
  dataSource: DataSource,
  sqlText: string,
  given: ObjectLiteral,
  valueCount: number,
  tail = '',
): Statement {
  const text = sqlText + tail
  const constants = Object.entries(given).map(([name, constant]) => [name, toSource(constant)])
  const bound = Array.from({ length: valueCount }, (_, index) => [
    placeholderOf(index).slice(1),
    { index, constant: undefined },
  ])
  const parameters = Object.fromEntries([...constants, ...bound])
  // The parameters are objects, each the `Source` of a value. TypeORM writes some values, such as numbers on SQLite, into
  // the SQL. For an object it always writes a placeholder. It returns the objects in the order of the placeholders.
  const [sql, sources] = replaceParameters(dataSource, text, parameters)
  // TypeORM 0.3's driver for sqlite3 does not read the rows of a statement that begins with INSERT, UPDATE or DELETE,
  // even if its tail is RETURNING. A leading space avoids that.
  const lead = tail !== '' && isSqlite3(dataSource) ? ' ' : ''
  return {
    sql: withComment(lead + sql),
    sources: sources as readonly Source[],
  }
}

/**
 * The source of a constant. An array becomes an array of sources, because TypeORM can write a placeholder for each of its
 * members (`:...name`).
 */
function toSource(constant: unknown): Source | readonly Source[] {
  if (Array.isArray(constant)) return constant.map((member) => ({ index: undefined, constant: member }))
  return { index: undefined, constant }
}

/** The values for the placeholders of a statement, as the driver accepts them. */
export function toDriverParameters(
  dataSource: DataSource,
  { sources }: Statement,
  values: readonly unknown[],
): unknown[] {
  const { toDriverParameter } = dialectOf(dataSource)
  return sources.map(({ index, constant }) => toDriverParameter(index === undefined ? constant : values[index]))
}

/** The type `sqlite` (package sqlite3) does not exist in TypeORM 1, hence the comparison as a string. */
function isSqlite3({ options }: DataSource): boolean {
  return String(options.type) === 'sqlite'
}

/**
 * Replaces named parameters by the placeholders of the driver. TypeORM 0.3 requires the third argument (native
 * parameters), which later versions do not have.
 */
function replaceParameters({ driver }: DataSource, query: string, parameters: ObjectLiteral): [string, unknown[]] {
  const escapeQuery: (query: string, parameters: ObjectLiteral, native: ObjectLiteral) => [string, unknown[]] =
    driver.escapeQueryWithParameters.bind(driver)
  return escapeQuery(query, parameters, {})
}
