import type { DataSource, ObjectLiteral, QueryBuilder } from 'typeorm'

/** A row as the driver hands it out, its columns named by the statement. */
export type RawRow = Readonly<Record<string, unknown>>

/**
 * Runs what a QueryBuilder says, as text: without entities, events and transactions.
 * @param returning what follows the builder's own text, as ` RETURNING "id"`
 */
export async function execute(
  dataSource: DataSource,
  builder: QueryBuilder<ObjectLiteral>,
  returning = '',
): Promise<readonly RawRow[]> {
  // SQLite's driver writes numbers into the text, which makes a new text of each; in an object they stay parameters.
  const wrappers = new Map<unknown, number>()
  const wrap = (value: unknown): unknown => {
    if (typeof value !== 'number') return value
    const wrapper = {}
    wrappers.set(wrapper, value)
    return wrapper
  }
  const query = builder.getQuery()
  const named = Object.entries(builder.getParameters()).map(([name, value]) => [name, wrap(value)])
  const [sql, parameters] = placeholders(dataSource, query, Object.fromEntries(named))
  return dataSource.query(
    sql + returning,
    parameters.map((parameter) => wrappers.get(parameter) ?? parameter),
  )
}

/** Puts the driver's placeholders for named parameters. TypeORM 0.3 wants a third argument, which later ones leave out. */
function placeholders({ driver }: DataSource, query: string, named: ObjectLiteral): [string, unknown[]] {
  const escapeQuery: (query: string, named: ObjectLiteral, native: ObjectLiteral) => [string, unknown[]] =
    driver.escapeQueryWithParameters.bind(driver)
  return escapeQuery(query, named, {})
}
