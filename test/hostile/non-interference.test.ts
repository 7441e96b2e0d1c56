import { Agent } from 'node:http'
import fc from 'fast-check'
import { send, textWithoutDate } from '../client'
import { isPostgres } from '../world/leg'
import { openWorld, type World } from '../world/world'
import { answeredParameters } from './aggregate-requests'
import { caseCount, timeFor } from './cases'
import type { Generated } from './generate'
import { type Conditional, twinRequests } from './twin-requests'
import { hiddenColumns, type Side, seedTwin, twinEntities } from './twins'

/**
 * Two databases that differ only in hidden values give the same response to every request: status, headers (except `Date`) and body are
 * equal byte for byte. Therefore no response depends on a hidden value.
 * Both get the same requests in the same order, including writes; `cases.ts` defines their number. Requests write hidden columns only if
 * these are neither unique nor references: for the others a response must tell whether a value is already used, or refers to a record.
 */

const total = caseCount(2000, 20_000)

let worlds: readonly World[]
const agent = new Agent({ keepAlive: true, maxSockets: 8 })
beforeAll(async () => {
  worlds = await Promise.all([openTwin(0), openTwin(1)])
})
afterAll(async () => {
  agent.destroy()
  await Promise.all(worlds.map((world) => world.close()))
  expect(worlds.flatMap(({ faults }) => faults)).toEqual([])
})

function openTwin(side: Side): Promise<World> {
  return openWorld({
    entities: twinEntities,
    seed: async (dataSource) => {
      await seedTwin(dataSource, side)
      if (!isPostgres) return
      // Inserted keys do not advance PostgreSQL's sequences.
      for (const { tableName } of dataSource.entityMetadatas.filter(
        ({ generatedColumns }) => generatedColumns.length > 0,
      ))
        await dataSource.query(`SELECT setval(pg_get_serial_sequence('"${tableName}"', 'id'), 100)`)
    },
  })
}

type Row = Readonly<Record<string, unknown>>

const tables = Object.keys(hiddenColumns)
const rowsOf = (table: string): Promise<readonly (readonly Row[])[]> =>
  Promise.all(worlds.map(({ sql }) => sql(`SELECT * FROM "${table}" ORDER BY "id"`)))

/** The columns of a table whose values differ between the two databases. */
async function differingColumns(table: string): Promise<readonly string[]> {
  const [firstRows = [], secondRows = []] = await rowsOf(table)
  expect(firstRows.length).toBe(secondRows.length)
  const columns = Object.keys(firstRows[0] ?? {})
  const valuesOf = (rows: readonly Row[], column: string): string => JSON.stringify(rows.map((row) => row[column]))
  return columns.filter((column) => valuesOf(firstRows, column) !== valuesOf(secondRows, column))
}

test.each(tables)('the two databases differ in the hidden columns of %s, and only in these', async (table) => {
  expect((await differingColumns(table)).toSorted()).toEqual([...(hiddenColumns[table] ?? [])].toSorted())
})

/** The latest `ETag` of each path, which is the same for both databases. */
const tags = new Map<string, string>()

function withCondition({ line, headers, condition }: Conditional): Generated['headers'] {
  if (condition === undefined) return headers
  return { ...headers, [condition]: tags.get(pathOf(line)) ?? '"none"' }
}
const pathOf = (line: string): string => line.slice(line.indexOf(' ') + 1)

const statuses = new Set<number>()
/** Parameters of requests that returned records or groups. */
const answered = new Set<string>()

async function check(request: Conditional): Promise<void> {
  const { line, as, body } = request
  const options = { as, body, agent, headers: withCondition(request) }
  const [one, other] = await Promise.all(worlds.map(({ url }) => send(url, line, options)))
  if (one === undefined || other === undefined) throw new Error('two databases are needed')
  for (const world of worlds) world.statements()
  statuses.add(one.status)
  for (const name of answeredParameters(line, one)) answered.add(name)
  if (typeof one.headers.etag === 'string') tags.set(pathOf(line), one.headers.etag)
  expect(textWithoutDate(other)).toBe(textWithoutDate(one))
}

test.each(['sheet', 'branch'])(
  'a PUT of %s that names a hidden field increments the version in both databases',
  async (table) => {
    const [firstRows = [], secondRows = []] = await rowsOf(table)
    for (const [index, row] of firstRows.entries()) {
      for (const column of hiddenColumns[table] ?? []) {
        const stored = (index % 2 === 0 ? row : secondRows[index])?.[column]
        const body = JSON.stringify({ [column]: stored })
        const headers = { 'Content-Type': 'application/json' }
        await check({ line: `PUT /api/${table}/${row['id']}/`, as: 'ann', headers, body })
        await check({ line: `GET /api/${table}/${row['id']}/`, as: undefined, headers: {} })
      }
    }
  },
)

test(
  'both databases give the same response to every request',
  async () => {
    const property = fc.asyncProperty(twinRequests, check)
    await fc.assert(property, { seed: 31, numRuns: total, includeErrorInReport: true })
  },
  timeFor(total),
)

test('the generated requests reach every kind of response', () => {
  const missing = [200, 201, 204, 304, 400, 401, 403, 404, 405, 409, 412].filter((status) => !statuses.has(status))
  const unanswered = ['aggregate', 'by', 'format', 'search', 'include', 'fields'].filter((name) => !answered.has(name))
  expect({ missing: total < 2000 ? [] : [...missing, ...unanswered] }).toEqual({ missing: [] })
})

test.each(tables)('the shown columns of %s are still the same in both databases', async (table) => {
  const hidden = hiddenColumns[table] ?? []
  expect((await differingColumns(table)).filter((column) => !hidden.includes(column))).toEqual([])
})
