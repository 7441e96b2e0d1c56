import { Agent } from 'node:http'
import fc from 'fast-check'
import { type Reply, send } from '../client'
import { isPostgres } from '../world/leg'
import { openWorld, type World } from '../world/world'
import { caseCount, timeFor } from './cases'
import type { Generated } from './generate'
import { type Conditional, twinRequests } from './twin-requests'
import { hiddenColumns, type Side, seedTwin, twinEntities } from './twins'

/**
 * Two databases that differ in what is hidden, and in nothing else, answer every request alike: status, headers and body,
 * byte for byte, but for `Date`. So no answer depends on anything hidden, whatever way it might have taken. Both are asked the
 * same in the same order, writes too. `cases.ts` says how many requests there are.
 *
 * Hidden columns are written where they are neither unique nor references: of the others an answer must tell whether a value is taken,
 * or points to a record.
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
      // Keys that were given do not count in PostgreSQL's sequences.
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

/** The columns of a table in which the two databases are not the same. */
async function differingColumns(table: string): Promise<readonly string[]> {
  const [ours = [], theirs = []] = await rowsOf(table)
  expect(ours.length).toBe(theirs.length)
  const columns = Object.keys(ours[0] ?? {})
  const valuesOf = (rows: readonly Row[], column: string): string => JSON.stringify(rows.map((row) => row[column]))
  return columns.filter((column) => valuesOf(ours, column) !== valuesOf(theirs, column))
}

test.each(tables)('the two differ in the hidden columns of %s, and in no other', async (table) => {
  expect((await differingColumns(table)).toSorted()).toEqual([...(hiddenColumns[table] ?? [])].toSorted())
})

/** The `ETag` that a path was last answered with, the same on both sides. */
const tags = new Map<string, string>()

function withCondition({ line, headers, condition }: Conditional): Generated['headers'] {
  if (condition === undefined) return headers
  return { ...headers, [condition]: tags.get(pathOf(line)) ?? '"none"' }
}
const pathOf = (line: string): string => line.slice(line.indexOf(' ') + 1)

/** An answer as text, without its `Date`. */
const visible = ({ status, headers: { date, ...headers }, text }: Reply): string =>
  [status, ...Object.entries(headers).map((header) => header.join(': ')), '', text].join('\n')

const statuses = new Set<number>()

async function check(request: Conditional): Promise<void> {
  const { line, as, body } = request
  const options = { as, body, agent, headers: withCondition(request) }
  const [one, other] = await Promise.all(worlds.map(({ url }) => send(url, line, options)))
  if (one === undefined || other === undefined) throw new Error('there must be two worlds')
  for (const world of worlds) world.statements()
  statuses.add(one.status)
  if (typeof one.headers.etag === 'string') tags.set(pathOf(line), one.headers.etag)
  expect(visible(other)).toBe(visible(one))
}

test.each(['sheet', 'branch'])(
  'a PUT of %s that names a hidden value moves the version on both sides',
  async (table) => {
    const [ours = [], theirs = []] = await rowsOf(table)
    for (const [index, row] of ours.entries()) {
      for (const column of hiddenColumns[table] ?? []) {
        const stored = (index % 2 === 0 ? row : theirs[index])?.[column]
        const body = JSON.stringify({ [column]: stored })
        const headers = { 'Content-Type': 'application/json' }
        await check({ line: `PUT /api/${table}/${row['id']}/`, as: 'ann', headers, body })
        await check({ line: `GET /api/${table}/${row['id']}/`, as: undefined, headers: {} })
      }
    }
  },
)

test(
  'they answer every request alike',
  async () => {
    const property = fc.asyncProperty(twinRequests, check)
    await fc.assert(property, { seed: 31, numRuns: total, includeErrorInReport: true })
  },
  timeFor(total),
)

test('the requests came as far as they should', () => {
  const missing = [200, 201, 204, 304, 400, 401, 403, 404, 405, 409, 412].filter((status) => !statuses.has(status))
  expect({ missing: total < 2000 ? [] : missing }).toEqual({ missing: [] })
})

test.each(tables)('what is shown of %s is still the same', async (table) => {
  const hidden = hiddenColumns[table] ?? []
  expect((await differingColumns(table)).filter((column) => !hidden.includes(column))).toEqual([])
})
