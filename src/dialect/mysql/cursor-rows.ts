import type { DriverError } from '../dialect'
import type { OpenCursor, Row } from '../row-cursor'
import { withComment } from '../statement-comment'
import type { QueryFailedErrorLike } from '../typeorm-error'
import { cancelStatement, limitTime, type MysqlConnection, type RunnerConnection, toParameter } from './connection'

/** A running command of mysql2, which emits each row as a `result`. */
interface Command {
  readonly on: ((event: 'result', listener: (row: Row) => void) => Command) &
    ((event: 'end', listener: () => void) => Command) &
    ((event: 'error', listener: (error: DriverError) => void) => Command)
}

/** A connection with the members that stream rows. Without a callback, `execute` returns the running command. */
type StreamingConnection = MysqlConnection & {
  readonly on: (event: 'error', listener: (error: DriverError) => void) => void
  readonly off: (event: 'error', listener: (error: DriverError) => void) => void
  readonly execute: (options: object, values: readonly unknown[]) => Command
  readonly pause: () => void
  readonly resume: () => void
}

/**
 * Lets the server wait for a slow client. By default it closes the connection after a minute in which nothing was read.
 */
const waitForClient = (milliseconds: number): string =>
  withComment(
    `SET net_write_timeout = GREATEST(@@net_write_timeout, ${Math.min(Math.ceil(milliseconds / 1000), 31_536_000)})`,
  )

/** Error number of a statement that has exceeded `max_statement_time`. */
const timeoutError = 1969

/**
 * Reads the rows of one statement as they arrive, and stops reading from the socket while the client is slow. The time
 * limit of the statement includes the time of the client, so it is that of all batches; a batch that takes longer than
 * its own limit is cancelled here.
 */
export const openMysqlCursor: OpenCursor = async (runner, sql, parameters, options) => {
  const runnerConnection: RunnerConnection = await runner.connect()
  const connection = runnerConnection.pooled as StreamingConnection
  const sent = limitTime(sql, options.totalTime)
  let rows: Row[] = []
  let bytes = 0
  let isDone = false
  let isLate = false
  let failure: DriverError | undefined
  let wake = (): void => undefined
  const end = (): void => {
    isDone = true
    wake()
  }
  let isLost = false
  // mysql2 reports a lost connection to commands with callbacks only, and otherwise as an event of the connection.
  const onLost = (error: DriverError): void => {
    isLost = true
    failure ??= error
    end()
  }
  connection.on('error', onLost)
  connection.query(waitForClient(options.totalTime), [], () => undefined)
  connection
    .execute({ sql: sent, rowsAsArray: true }, parameters.map(toParameter))
    .on('result', (row) => {
      rows.push(row)
      bytes += options.sizeOf(row)
      if (rows.length < options.rows && bytes < options.bytes) return
      connection.pause()
      wake()
    })
    .on('error', (error) => {
      failure = error
      end()
    })
    .on('end', end)
  const isReady = (): boolean => isDone || rows.length >= options.rows || bytes >= options.bytes
  const waitForRows = (): Promise<void> =>
    new Promise((resolve) => {
      wake = resolve
      if (isReady()) resolve()
    })
  const cancel = (): Promise<void> => cancelStatement(runner.connection.driver, runnerConnection)
  let lateCancellation: Promise<void> | undefined
  const toFailure = (error: DriverError): QueryFailedErrorLike => {
    const driverError = isLate ? Object.assign(new Error(error.message), { errno: timeoutError }) : error
    return Object.assign(new Error(error.message), { name: 'QueryFailedError', query: sql, parameters, driverError })
  }
  return {
    next: async () => {
      if (!isReady()) {
        const timer = Number.isFinite(options.batchTime)
          ? setTimeout(() => {
              isLate = true
              lateCancellation = cancel().catch(() => undefined)
            }, options.batchTime)
          : undefined
        await waitForRows()
        clearTimeout(timer)
      }
      if (failure !== undefined) throw toFailure(failure)
      const batch = rows
      rows = []
      bytes = 0
      if (!isDone) connection.resume()
      return batch
    },
    close: async () => {
      // A batch can arrive while its cancellation is on the way, which would then interrupt the next statement.
      await lateCancellation
      // The rest of the rows is still in the socket.
      while (!isDone) {
        await cancel()
        rows = []
        bytes = 0
        connection.resume()
        await waitForRows()
      }
      connection.off('error', onLost)
      if (!isLost) connection.unprepare(sent)
    },
  }
}
