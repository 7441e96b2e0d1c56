import { ValidateBy } from 'class-validator'
import {
  AfterInsert,
  BeforeInsert,
  Column,
  Entity,
  ManyToOne,
  OneToMany,
  PrimaryGeneratedColumn,
  type Relation,
  Tree,
  TreeChildren,
  TreeParent,
} from 'typeorm'
import { mountResources, Resource } from 'typeorm-resources'
import { type Reply, send } from '../client'
import { permitAllAsUser1 } from '../support/access'
import { block } from '../support/block'
import { longText, MiB } from '../support/texts'
import { openWorld, type World } from '../world/world'

/** Limits of arrays and imports for each record, and other requests that run while many records are written. */

/** The turns of the event loop in which listeners were called. */
const turns = new Set<number>()
let turn = 0
let timer: NodeJS.Immediate
const countTurns = (): void => {
  turn++
  timer = setImmediate(countTurns)
}

@Entity()
@Resource({ auth: permitAllAsUser1, bulk: true })
class Item {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: longText, nullable: true }) name!: string | null
  @Column({ type: 'simple-json', nullable: true }) extra!: unknown
  @BeforeInsert() insert(): void {
    turns.add(turn)
  }
}

/** A table with so many columns that an INSERT takes long. */
@Entity()
@Resource({ auth: permitAllAsUser1, bulk: true })
class Wide {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'integer', nullable: true, unique: true }) number!: number | null
  @BeforeInsert() before(): void {
    turns.add(turn)
  }
  @AfterInsert() after(): void {
    turns.add(turn)
  }
}
const columns = Array.from({ length: 300 }, (_, index) => `c${index}`)
for (const name of columns) Column({ type: 'integer', nullable: true })(Wide.prototype, name)

/** A table whose values take 0.2 milliseconds each to check, and to read. */
@Entity()
@Resource({ auth: permitAllAsUser1, bulk: true })
class Slow {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'integer' })
  @ValidateBy({ name: 'slow', validator: { validate: validateSlowly } })
  checked!: number
  @Column({ type: 'integer', transformer: { to: (value) => value, from: readSlowly } })
  read!: number
}

@Entity()
@Tree('nested-set')
@Resource({ auth: permitAllAsUser1, bulk: true })
class Part {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) name!: string
  @TreeParent() parent!: Part | null
  @TreeChildren() children!: Part[]
  @BeforeInsert() insert(): void {
    turns.add(turn)
  }
}

@Entity()
@Resource({ auth: permitAllAsUser1, nested: ['rows'] })
class Sheet {
  @PrimaryGeneratedColumn() id!: number
  @OneToMany(
    () => SheetRow,
    (row) => row.sheet,
  )
  rows!: Relation<SheetRow>[]
}

/** The turns in which `readSlowly` was called. */
const readTurns = new Set<number>()

function validateSlowly(): boolean {
  turns.add(turn)
  block(0.2)
  return true
}

function readSlowly(value: number): number {
  readTurns.add(turn)
  block(0.2)
  return value
}

/** A validator that takes 0.1 milliseconds. */
function validate(): boolean {
  turns.add(turn)
  block(0.1)
  return true
}

@Entity()
@Resource({ auth: permitAllAsUser1, nested: ['cells'] })
class SheetRow {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'integer' })
  @ValidateBy({ name: 'slow', validator: { validate } })
  number!: number
  @ManyToOne(
    () => Sheet,
    (sheet) => sheet.rows,
  )
  sheet!: Relation<Sheet>
  @OneToMany(
    () => Cell,
    (cell) => cell.row,
  )
  cells!: Relation<Cell>[]
}

@Entity()
@Resource({ auth: permitAllAsUser1 })
class Cell {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'integer' })
  @ValidateBy({ name: 'slow', validator: { validate } })
  number!: number
  @ManyToOne(
    () => SheetRow,
    (row) => row.cells,
  )
  row!: Relation<SheetRow>
}

/** Turn in which the body of the last request was complete. */
let received = 0

let world: World
let limited: World
beforeAll(async () => {
  const entities = [Item, Wide, Slow, Part, Sheet, SheetRow, Cell]
  world = await openWorld({
    entities,
    before: (app) => {
      app.use(({ req }, next) => {
        req.once('end', () => {
          received = turn
        })
        return next()
      })
    },
  })
  limited = await openWorld({
    entities,
    mountOn: (app, dataSource) => {
      mountResources(app, dataSource, { prefix: '/short', limits: { bulkTime: 20 } })
      mountResources(app, dataSource, { prefix: '/paged', limits: { pageBytes: 4 * MiB } })
      return mountResources(app, dataSource, { limits: { body: 2000, bodyValues: 100 } })
    },
  })
  for (const { sql } of [world, limited]) {
    await sql(`INSERT INTO "part" ("name", "nsleft", "nsright") VALUES ('root', 1, 2)`)
  }
})
beforeEach(() => {
  turns.clear()
  readTurns.clear()
  countTurns()
})
afterEach(() => clearImmediate(timer))
afterAll(async () => {
  for (const opened of [world, limited]) {
    await opened.close()
    expect(opened.faults).toEqual([])
  }
})

const post = ({ url }: World, path: string, body: unknown, type = 'application/json'): Promise<Reply> =>
  send(url, `POST /${path}/`, {
    body: typeof body === 'string' ? body : JSON.stringify(body),
    headers: { 'Content-Type': type },
  })
const detailOf = (reply: Reply): string => (reply.json() as { detail: string }).detail
const count = async (opened: World, table: string): Promise<number> =>
  (await opened.sql(`SELECT "id" FROM "${table}"`)).length

describe('a record of an array or of an import is limited like the body of a single one', () => {
  const values = { extra: Array(100).fill(1) }
  const names = { extra: Object.fromEntries([1, 2, 3].map((index) => [`${index}`.repeat(700), 1])) }
  const text = { name: 'ü'.repeat(1001) }
  const lines = (...records: readonly unknown[]): string => records.map((one) => JSON.stringify(one)).join('\n')
  const [ndjson, csv] = ['application/x-ndjson', 'text/csv']

  test.each<[what: string, body: unknown, type: string | undefined, status: number, detail: RegExp]>([
    ['values', [{}, values], undefined, 400, /^record 1 of the array has more than 100 values/],
    ['bytes of a text', [{}, text], undefined, 413, /^record 1 of the array is too large: .* at most 2000 bytes/],
    ['bytes of names', [names], undefined, 413, /^record 0 of the array is too large: .* at most 2000 bytes/],
    ['values of a line', lines({}, values), ndjson, 400, /^line 2 has more than 100 values/],
    ['bytes of a line', `${lines({}, text)}\n`, ndjson, 413, /^line 2 is too large: .* at most 2000 bytes/],
    ['bytes of the last line', lines({}, {}, text), ndjson, 413, /^line 3 is too large: .* at most 2000 bytes/],
    ['values of a cell', `name,extra\na,"[${values.extra}]"\n`, csv, 400, /^line 2 has more than 100 values/],
  ])('%s', async (_, body, type, status, detail) => {
    const reply = await post(limited, 'api/item', body, type)
    expect([reply.status, detailOf(reply)]).toEqual([status, expect.stringMatching(detail)])
    expect(await count(limited, 'item')).toBe(0)
  })

  test('as large as they may be', async () => {
    const record = { name: 'ü'.repeat(890), extra: Array(98).fill(1) }
    for (const reply of [
      await post(limited, 'api/item', [record]),
      await post(limited, 'api/item', lines(record), ndjson),
    ]) {
      expect(reply.status).toBe(201)
    }
  })
})

test('a PATCH on a collection writes as many characters to all records as a page may have', async () => {
  const ids = (await post(limited, 'paged/item', Array(5).fill({ name: 'a' }))).json() as {
    readonly objects: readonly { readonly id: number }[]
  }
  const path = `PATCH /paged/item/?id__in=${ids.objects.map(({ id }) => id).join()}`
  const patch = (length: number, max = ''): Promise<Reply> =>
    send(limited.url, path + max, { body: { name: 'b'.repeat(length) } })
  const refused = await patch(900_000)
  expect([refused.status, (refused.json() as { detail: string }).detail]).toEqual([
    409,
    'more than 4 records match; nothing was written: add filters, or send shorter values (limits.pageBytes)',
  ])
  // With room for 7 of 10 records, whose number is one less than a power of two.
  const more = (await post(limited, 'paged/item', Array(5).fill({ name: 'a' }))).json() as typeof ids
  const all = [...ids.objects, ...more.objects].map(({ id }) => id).join()
  const tooMany = await send(limited.url, `PATCH /paged/item/?id__in=${all}`, { body: { name: 'b'.repeat(550_000) } })
  expect([tooMany.status, (tooMany.json() as { detail: string }).detail]).toEqual([
    409,
    expect.stringMatching(/^more than 7 records match/),
  ])
  expect((await patch(800_000)).json()).toMatchObject({ meta: { updated: 5 } })
  expect((await patch(900_000, '&max=2')).json()).toMatchObject({ detail: expect.stringContaining('or raise max') })
})

/** JSON of an array of records, and what is wrong with it. */
const arrays: readonly (readonly [body: string, status: number, detail: RegExp])[] = [
  [' [ ] ', 201, /^$/],
  ['[{"name":"a,]}\\"[{"} , {"extra":[{"a":[1,2]},3]}\n]\t', 201, /^$/],
  ['[{}', 400, /^the body is not JSON: the array has no end: .* in or after record 0$/],
  ['[{},{"name":"a]', 400, /^the body is not JSON: the array has no end: .* in or after record 1$/],
  ['[{},{"extra":{},{}]', 400, /^the body is not JSON: the array has no end: .* in or after record 1$/],
  ['[{}]]', 400, /^the body is not JSON: something follows the end of the array$/],
  ['[{}],[{}]', 400, /^the body is not JSON: something follows the end of the array$/],
  ['[{}}', 400, /^the body is not JSON: the array must end with "\]", not with "\}"$/],
  ['[{},]', 400, /^record 1 of the array is not JSON: it is empty; remove the extra comma$/],
  ['[ ,{}]', 400, /^record 0 of the array is not JSON: it is empty; remove the extra comma$/],
  ['[,]', 400, /^record 0 of the array is not JSON: it is empty; remove the extra comma$/],
  ['[{} {}]', 400, /^record 0 of the array is not JSON/],
  ['[{},{]}]', 400, /^the body is not JSON: the array must end with "\]", not with "\}"$/],
  ['[{},[{}]]', 400, /^record 1 of the array must be a JSON object/],
  ['[{},null]', 400, /^record 1 of the array must be a JSON object/],
  ['\u00a0[{}]', 400, /^the body is not JSON/],
  ['[{}]\u00a0', 400, /^the body is not JSON/],
  ['[\u00a0]', 400, /^record 0 of the array is not JSON/],
  ['[{},\u00a0{}]', 400, /^record 1 of the array is not JSON/],
]

test.each(arrays)('the array %j is %i', async (body, status, detail) => {
  const reply = await post(world, 'api/item', body)
  expect([reply.status, reply.status === 201 ? '' : detailOf(reply)]).toEqual([status, expect.stringMatching(detail)])
})

/** Makes each statement take a millisecond, on a fast machine too. @returns a function that ends this */
function slowDownStatements(): () => void {
  const { logger } = world.dataSource
  const { logQuery } = logger
  logger.logQuery = (...query) => {
    block(1)
    logQuery.apply(logger, query)
  }
  return () => {
    logger.logQuery = logQuery
  }
}

describe('other requests run', () => {
  test('while an array with many different names is parsed', async () => {
    const records = Array.from({ length: 40 }, (_, row) =>
      Object.fromEntries(Array.from({ length: 4000 }, (__, column) => [`name ${row} ${column}`, 1])),
    )
    const reply = await post(world, 'api/item', records)
    expect(reply.status).toBe(400)
    // Without pauses it takes one turn, and the response a few others.
    expect(turn - received).toBeGreaterThan(8)
  })

  test('while records with many values are written', async () => {
    const reply = await post(world, 'api/item', Array(12).fill({ extra: Array(15_000).fill(1) }))
    expect(reply.status).toBe(201)
    // Two records have more than 20,000 values.
    expect(turns.size).toBeGreaterThan(5)
  })

  /** Records that each have other fields. */
  const bodies = Array.from({ length: 200 }, (_, index) => ({
    number: index,
    ...Object.fromEntries(
      columns.map((name, column) => [name, (index * 37 + column * column) % 3 ? column : undefined]),
    ),
    [`c${index % 100}`]: undefined,
  }))

  test('while the INSERT of records with different fields is compiled', async () => {
    const reply = await post(world, 'api/wide', bodies)
    expect(reply.status).toBe(201)
    expect(Math.max(...turns) - Math.min(...turns)).toBeGreaterThan(5)
  })

  test('while records with different fields are updated or created', async () => {
    const records = bodies.map((body) => ({ ...body, number: body.number + 2000 }))
    const reply = await send(world.url, 'POST /api/wide/?on_conflict=number', { body: records })
    expect(reply.status).toBe(200)
    expect(turns.size).toBeGreaterThan(6)
  })

  test('while records are inserted one by one, after the database has rejected some', async () => {
    const restore = slowDownStatements()
    const [first = {}, ...others] = bodies.map((body) => ({ ...body, number: body.number + 1000 }))
    const reply = await post(world, 'api/wide', [first, { ...first, c1: 1 }, ...others]).finally(restore)
    expect(reply.status).toBe(409)
    // Without pauses it takes three turns.
    expect(turn - Math.min(...turns)).toBeGreaterThan(6)
  })

  test('while new records are checked, and rendered for the response', async () => {
    const reply = await post(world, 'api/slow', Array(200).fill({ checked: 1, read: 2 }))
    // The values are read to find out whether they can be shown, and for the response: without pauses in two turns at most.
    expect([reply.status, turns.size > 2, readTurns.size > 4]).toEqual([201, true, true])
  })

  const numbers = (length: number) => Array.from({ length }, (_, number) => ({ number }))
  test.each([
    ['many', numbers(900)],
    ['a few of each of many records', numbers(30).map((row) => ({ ...row, cells: numbers(29) }))],
  ])('while related records are checked: %s', async (_, rows) => {
    const reply = await post(world, 'api/sheet', { rows })
    // Without pauses there are at most two turns, for the records of both levels.
    expect([reply.status, turns.size > 5]).toEqual([201, true])
  })

  test('between nodes of a tree', async () => {
    const restore = slowDownStatements()
    const reply = await post(world, 'api/part', Array(100).fill({ name: 'leaf', parent_id: 1 })).finally(restore)
    // Without pauses, all nodes are inserted in a few turns.
    expect([reply.status, turns.size > 10]).toEqual([201, true])
  })
})

test('the time limit applies to nodes of a tree that are written together', async () => {
  const reply = await post(limited, 'short/part', Array(150).fill({ name: 'leaf', parent_id: 1 }))
  expect([reply.status, detailOf(reply)]).toEqual([413, expect.stringMatching(/took longer than 20 ms/)])
  expect(await count(limited, 'part')).toBe(1)
})
