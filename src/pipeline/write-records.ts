import type { DbTransaction } from '../connection/db-session'
import { pause } from '../connection/pauses'
import { retryOnce } from '../connection/retry'
import { isInTransaction, runSharedTransaction } from '../connection/statement'
import { ApiError, FieldErrors, type RecordPosition } from '../errors'
import { longBytes } from '../read/long-columns'
import type { Store } from '../read/store'
import type { Body } from '../request/body'
import { requireFewValues } from '../request/body-values'
import type { Limits } from '../request/limits'
import type { ReadColumn } from '../schema/stored-column'
import type { Change } from '../write/change'
import { lockTreesOf } from '../write/lock-trees'
import { refuseWrite } from '../write/refuse-write'
import { withPasswordsHashed } from './body-passwords'
import { DryRun, endDryRun, isDryRun } from './dry-run'
import type { PermittedRequest, Service, TransactionRequest } from './service'

/** Default of {@link RecordsWriter.groupSize}. */
const defaultGroupSize = 200
/** The same for a tree, where one record can take a hundred times as long: the time limit is checked between groups. */
const treeGroupSize = 20
/** Length of the texts of imported records after which no more records are written together, in characters. */
const groupLength = 1024 * 1024
/** Number of values of records, at all levels, after which no more records are written together. */
const groupValues = 20_000

/** A record of a request with several records. */
export interface ReceivedRecord {
  readonly body: Body
  readonly position: RecordPosition
  /** Length of its text in an import, in characters. The records of an array are in memory already. */
  readonly length?: number
}

/** The change of any new record. */
export const created: Change = { action: 'create', values: new Map(), stored: undefined }

/** The records of an array. */
export function recordsOf(bodies: readonly Body[]): () => readonly ReceivedRecord[] {
  return () => bodies.map((body, index) => ({ body, position: { index } }))
}

/** The records of an array, or of a file, which is read while they are written. */
export type ReceivedRecords = readonly ReceivedRecord[] | AsyncIterable<ReceivedRecord>

/** Records to write, and how. */
export interface RecordsWriter {
  /**
   * Returns the records. It is called once more if the transaction is repeated.
   * @param errors receives their errors
   * @param requireTime to be called between records that take time to read; throws at the time limit of the transaction
   */
  readonly records: (errors: FieldErrors, requireTime: () => void) => ReceivedRecords
  /** Called at the start of each attempt. */
  readonly begin?: () => void
  /**
   * Maximum number of records that are written together. Their objects are freed before the next ones are created, and other
   * requests run before these are written. Default: 200, or 20 nodes of a tree
   */
  readonly groupSize?: number
  /**
   * Writes some of the records. If there are errors, it may only check them.
   * @param previous number of records of the request before these
   */
  readonly write: (
    request: TransactionRequest,
    group: readonly ReceivedRecord[],
    errors: FieldErrors,
    previous: number,
  ) => Promise<void>
}

/** Result of a write of several records. */
export interface WrittenRecords {
  readonly count: number
  /** Whether the request has only checked them (`dry_run=true`). */
  readonly isDry: boolean
}

/**
 * Writes several records in one transaction. It is rolled back if the request only checks them.
 * @throws {ApiError} for every refusal, with the errors of all records
 */
export async function writeRecords(
  service: Service,
  request: PermittedRequest,
  writer: RecordsWriter,
): Promise<WrittenRecords> {
  const isDry = isDryRun(request)
  // An import is read once more for its passwords.
  const requireTime = startTimeLimit(service.limits)
  const hashed = await withPasswordsHashed(service, request, () => writer.records(new FieldErrors(), requireTime))
  let count = 0
  await runWrites(hashed, async (inner) => {
    writer.begin?.()
    count = await writeGroups(service, inner, writer)
    if (isDry) await endDryRun(inner.session)
  }).catch(DryRun.ignore)
  return { count, isDry }
}

/** Runs the writes of a POST in one transaction, and repeats it after a conflict. */
export function runWrites<T>(request: PermittedRequest, work: (request: TransactionRequest) => Promise<T>): Promise<T> {
  const { session, store } = request
  return retryOnce(session, () =>
    runSharedTransaction(
      session,
      async (inner) => {
        if (!isInTransaction(session)) await lockTreesOf(inner, [store])
        return work({ ...request, session: inner })
      },
      store.dialect.checkedWriteIsolation,
      // COMMIT checks deferred constraints.
    ).catch((error: unknown) => refuseWrite(error, session, store, created)),
  )
}

/** Number of records that are written and read together if the database may compute long values for each. */
const computedGroupSize = 50

/** Whether the database computes the values of a column, which may be much longer than the body. */
function isLongComputed({ dataSource }: Store, stored: ReadColumn): boolean {
  const { column } = stored
  const { isVirtualProperty, asExpression, default: defaultValue } = column
  const isComputed = isVirtualProperty || asExpression !== undefined || typeof defaultValue === 'function'
  return isComputed && longBytes(stored, dataSource) !== undefined
}

/**
 * Writes records group by group. After the first error, the remaining records are only checked, so that one response
 * reports the errors of all.
 */
async function writeGroups(
  { limits }: Service,
  request: TransactionRequest,
  { records, write, groupSize }: RecordsWriter,
): Promise<number> {
  const { view } = request.store
  const isTree = view.metadata.treeType !== undefined
  const isLong = view.columns.some((column) => isLongComputed(request.store, column))
  const ownGroupSize = groupSize ?? (isTree ? treeGroupSize : defaultGroupSize)
  const maxGroupSize = isLong ? Math.min(ownGroupSize, computedGroupSize) : ownGroupSize
  const requireTime = startTimeLimit(limits)
  const errors = new FieldErrors()
  let count = 0
  for await (const group of groupsOf(records(errors, requireTime), maxGroupSize)) {
    requireTime()
    await write(request, group, errors, count)
    requireFewChanges(request.session, limits)
    if (errors.isFull) break
    count += group.length
    // The driver better-sqlite3 is synchronous: without pauses, other requests would wait for the last group.
    await pause(request.session)
  }
  errors.raise('bad-values')
  return count
}

/**
 * Limits the changes that a transaction keeps for listeners. As measured, those of 1.5 million records, a file of 4.5 MB, took
 * 1 GB, and blocked the event loop for two seconds when they were published.
 * @throws {ApiError} `body-too-large`
 */
function requireFewChanges({ changes = [] }: DbTransaction, limits: Limits): void {
  if (changes.length <= limits.changes) return
  throw new ApiError(
    'body-too-large',
    `while the application listens to changes, a request may write at most ${limits.changes} records: send fewer records`,
  )
}

/**
 * Starts the time limit of a transaction.
 * @returns a function that throws `body-too-large` when the time is over
 */
export function startTimeLimit({ bulkTime }: Limits): () => void {
  const deadline = performance.now() + bulkTime
  return () => {
    if (performance.now() <= deadline) return
    throw new ApiError(
      'body-too-large',
      `the transaction took longer than ${bulkTime} ms: send fewer records or operations`,
    )
  }
}

async function* groupsOf(records: ReceivedRecords, groupSize: number): AsyncGenerator<readonly ReceivedRecord[]> {
  let group: ReceivedRecord[] = []
  let length = 0
  let values = 0
  for await (const record of records) {
    length += record.length ?? 0
    values += requireFewValues([...record.body.values()], Number.POSITIVE_INFINITY)
    if (group.push(record) < groupSize && length < groupLength && values < groupValues) continue
    yield group
    group = []
    length = 0
    values = 0
  }
  if (group.length > 0) yield group
}
