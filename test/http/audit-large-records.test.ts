import Koa from 'koa'
import { Column, Entity, ManyToOne, PrimaryColumn, PrimaryGeneratedColumn, type Relation } from 'typeorm'
import { mountResources, Resource } from 'typeorm-resources'
import { send } from '../client'
import { permitAll } from '../support/access'
import { AuditLine } from '../support/audit-line'
import { dropDatabase, isMariadb } from '../world/leg'
import { openDataSource, openWorld, type World } from '../world/world'

/** The audit log of writes of many large records: only some of their values are in memory, or in a statement, at a time. */

const longText = isMariadb ? 'longtext' : 'text'

@Entity()
@Resource({ auth: permitAll, bulk: true })
class Report {
  @PrimaryColumn() id!: number
  @Column({ type: longText }) text!: string
  @Column({ default: 0 }) score!: number
  @ManyToOne(() => Report, { nullable: true }) previous!: Relation<Report> | null
}

/** The turns of the event loop in which `readSlowly` was called. */
const turns = new Set<number>()
let turn = 0
let timer: NodeJS.Immediate
const countTurns = (): void => {
  turn++
  timer = setImmediate(countTurns)
}

/** Keeps the process busy for 0.2 milliseconds. */
function readSlowly(value: unknown): unknown {
  turns.add(turn)
  const end = performance.now() + 0.2
  while (performance.now() < end);
  return value
}

@Entity()
@Resource({ auth: permitAll, bulk: true })
class Measurement {
  @PrimaryColumn() id!: number
  @Column({ default: 0 }) score!: number
  @Column({ default: 0, transformer: { to: (value) => value, from: readSlowly } }) slow!: number
  @Column({ type: isMariadb ? 'json' : 'simple-json', nullable: true }) numbers!: readonly number[] | null
}

@Entity()
class Entry {
  @PrimaryGeneratedColumn() id!: number
  @Column() resource!: string
  @Column() record!: string
  @Column() action!: string
  @Column({ type: 'varchar', nullable: true }) principal!: string | null
  @Column({ type: isMariadb ? 'json' : 'simple-json' }) changes!: { text?: { from?: string; to?: string } }
}

/** Number of records, and characters of the text of each. */
const count = 16
const length = 2 ** 20
const textOf = (id: number): string => String(id).padEnd(length, '\u{1}')

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Report, Measurement, Entry], mount: { audit: { entity: Entry } } })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})
afterEach(async () => {
  await world.dataSource.getRepository(Entry).clear()
})

const fill = async (text: (id: number) => string): Promise<void> => {
  const reports = world.dataSource.getRepository(Report)
  await reports.createQueryBuilder().delete().execute()
  for (let id = 1; id <= count; id++) {
    // MariaDB checks foreign keys for each row of a statement: there it does not delete records that refer to each other.
    await reports.insert({ id, text: text(id), previous: isMariadb || id === 1 ? null : { id: id - 1 } })
  }
  world.statements()
}

/** The number of statements since the last call that begin with a word and name a table. */
function statementCounts(): Readonly<Record<'update' | 'delete' | 'entries', number>> {
  const all = world.statements()
  const countOf = (pattern: RegExp): number => all.filter((sql) => pattern.test(sql)).length
  return {
    update: countOf(/^UPDATE .{0,40}report/),
    delete: countOf(/^DELETE .{0,40}report/),
    entries: countOf(/^INSERT .{0,40}entry/),
  }
}

const ids = Array.from({ length: count }, (_, index) => String(index + 1))
const entries = () => world.dataSource.getRepository(Entry).find({ order: { id: 'ASC' } })

test('an update of many large records', async () => {
  await fill(textOf)
  const reply = await send(world.url, 'PATCH /api/report/?id__gte=1', { body: { score: 1 } })
  expect(reply.json()).toEqual({ meta: { model: 'report', updated: count } })
  expect(statementCounts().update).toBeGreaterThanOrEqual(count / 4)
  const stored = await entries()
  expect(stored.map(({ record }) => record)).toEqual(ids)
  expect(stored.every(({ changes }) => 'score' in changes && !('text' in changes))).toBe(true)
})

test('an update of many short records to a long value', async () => {
  await fill(String)
  const reply = await send(world.url, 'PATCH /api/report/?id__gte=1', { body: { text: 'x'.repeat(1_000_000) } })
  expect(reply.status).toBe(200)
  expect(statementCounts().update).toBeGreaterThanOrEqual(count / 4)
  const stored = await entries()
  expect(stored.map(({ record, changes }) => [record, changes.text?.from, changes.text?.to?.length])).toEqual(
    ids.map((id) => [id, id, 1_000_000]),
  )
})

describe('many short records', () => {
  const records = Array.from({ length: 200 }, (_, index) => ({ id: index + 1 }))
  beforeEach(async () => {
    await world.dataSource.getRepository(Measurement).clear()
    await world.dataSource.getRepository(Measurement).insert(records)
    world.statements()
  })
  const updates = (): number => world.statements().filter((sql) => /^UPDATE .{0,40}measurement/.test(sql)).length

  test('an update to a value of many numbers', async () => {
    const numbers = Array.from({ length: 10_000 }, (_, index) => index)
    const reply = await send(world.url, 'PATCH /api/measurement/?id__lte=100', { body: { numbers } })
    expect([reply.status, updates() >= 2]).toEqual([200, true])
    expect(await world.dataSource.getRepository(Entry).count()).toBe(100)
  })

  test.each(['PATCH', 'DELETE'])('other requests run during a %s', async (method) => {
    countTurns()
    turns.clear()
    const body = method === 'PATCH' ? { body: { score: 1 } } : {}
    const reply = await send(world.url, `${method} /api/measurement/?id__gte=1`, body)
    clearImmediate(timer)
    // The values are read for the entries: without pauses in one turn, and in another one to check the update.
    expect([reply.status, turns.size > 2]).toEqual([200, true])
    expect(await world.dataSource.getRepository(Entry).count()).toBe(200)
  })
})

test('a deletion of many large records, which refer to each other', async () => {
  await fill(textOf)
  const reply = await send(world.url, 'DELETE /api/report/?id__gte=1')
  expect(reply.json()).toEqual({ meta: { model: 'report', deleted: count } })
  const counts = statementCounts()
  expect(counts.delete).toBe(1)
  // Escaped, the text of each record has 6 MiB.
  expect(counts.entries).toBeGreaterThanOrEqual(count / 2)
  const stored = await entries()
  expect(stored.map(({ record, action }) => [record, action])).toEqual(ids.map((id) => [id, 'delete']))
  expect(stored.every(({ record, changes }) => changes.text?.from === textOf(Number(record)))).toBe(true)
})

test('short records need one statement', async () => {
  await fill(String)
  expect((await send(world.url, 'PATCH /api/report/?id__gte=1', { body: { score: 1 } })).status).toBe(200)
  expect((await send(world.url, 'DELETE /api/report/?id__gte=1')).status).toBe(200)
  expect(statementCounts()).toEqual({ update: 1, delete: 1, entries: 2 })
})

test('on MySQL and MariaDB, the mount warns of a column that is too short for large changes', async () => {
  const logged: string[] = []
  const dataSource = await openDataSource([Report, AuditLine], undefined, {}, (line) => logged.push(line))
  mountResources(new Koa(), dataSource, { audit: { entity: AuditLine } })
  await dataSource.destroy()
  await dropDatabase(dataSource)
  const warning =
    'warn typeorm-resources: AuditLine.changes of the audit log has at most 64 KiB: give it the type json or longtext, as writes with larger changes fail'
  expect(logged.filter((line) => line.includes('audit log'))).toEqual(isMariadb ? [warning] : [])
})
