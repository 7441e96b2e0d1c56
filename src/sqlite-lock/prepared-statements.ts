import { newPreparedStatementCache, sqliteLimits } from '../dialect/prepared-statements'
import type { PreparedStatement } from '../dialect/sqlite/connection'
import { restartTimeLimit } from '../dialect/sqlite/time-limit'
import { isServiceStatement } from '../dialect/statement-comment'
import { noteStatement } from './pause'

/**
 * Cache of the prepared statements of a better-sqlite3 connection. Replaces TypeORM's Map, which limits only their
 * number. Statements of this service return rows as arrays, which better-sqlite3 creates faster than objects.
 */
export class PreparedStatements extends Map<string, PreparedStatement> {
  readonly #cache = newPreparedStatementCache<PreparedStatement>(sqliteLimits, (_, sql) => super.delete(sql))

  override get(sql: string): PreparedStatement | undefined {
    return this.#cache.get(sql)
  }

  override set(sql: string, statement: PreparedStatement): this {
    const prepared = isServiceStatement(sql) ? ofService(statement) : statement
    this.#cache.set(sql, prepared)
    return this.#cache.has(sql) ? super.set(sql, prepared) : this
  }

  override delete(sql: string): boolean {
    return this.#cache.delete(sql)
  }

  override clear(): void {
    this.#cache.clear()
  }
}

/** Makes a statement return rows as arrays, and notes how long it runs. */
function ofService(statement: PreparedStatement): PreparedStatement {
  const timed = statement.reader ? statement.raw() : statement
  timed.all = withTime(timed.all.bind(timed))
  timed.run = withTime(timed.run.bind(timed))
  return timed
}

function withTime(run: PreparedStatement['run']): PreparedStatement['run'] {
  return (...values) => {
    restartTimeLimit()
    const start = performance.now()
    try {
      return run(...values)
    } finally {
      noteStatement(start, performance.now())
    }
  }
}
