import { performance } from 'node:perf_hooks'
import { newPreparedStatementCache, sqliteLimits } from '../dialect/prepared-statements'
import type { PreparedStatement } from '../dialect/sqlite/connection'
import { restartTimeLimit } from '../dialect/sqlite/time-limit'
import { isServiceStatement } from '../dialect/statement-comment'
import { noteStatement } from './statement-pauses'

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
    if (isServiceStatement(sql) && statement.reader) statement.raw()
    noteTime(statement)
    this.#cache.set(sql, statement)
    return this.#cache.has(sql) ? super.set(sql, statement) : this
  }

  override delete(sql: string): boolean {
    return this.#cache.delete(sql)
  }

  override clear(): void {
    this.#cache.clear()
  }
}

/** Makes a statement note how long it runs. */
function noteTime(statement: PreparedStatement): void {
  statement.all = withTime(statement.all.bind(statement))
  statement.run = withTime(statement.run.bind(statement))
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
