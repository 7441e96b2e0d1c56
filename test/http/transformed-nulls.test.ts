import { Column, Entity, ManyToOne, OneToMany, PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf, send } from '../client'
import { permitAllAsUser1 } from '../support/access'
import { openWorld, type World } from '../world/world'

/** Transformers that store a value as NULL, show NULL as a value, or store null as a value. */

/** Stores `none` as NULL. */
const noneAsNull = {
  to: (value: string | null | undefined) => (value === 'none' ? null : value),
  from: (stored: string | null) => stored ?? 'none',
}
/** Stores false as NULL. */
const falseAsNull = { to: (value: boolean | null) => (value ? 1 : null), from: (stored: number | null) => stored === 1 }
/** Stores false as 0, but shows NULL as false too. */
const nullAsFalse = { to: (value: boolean | null) => (value ? 1 : 0), from: (stored: number | null) => stored === 1 }
/** Stores an empty text as NULL. */
const emptyAsNull = { to: (value: string | null) => value || null, from: (stored: string | null) => stored ?? '' }
/** Stores `free` as an empty text. */
const freeAsEmpty = {
  to: (value: string | null) => (value === 'free' ? '' : value),
  from: (stored: string) => (stored === '' ? 'free' : stored),
}
/** Stores an empty text as NULL, and shows it as null. */
const emptyIsLost = { to: (value: string | null) => value || null, from: (stored: string | null) => stored }
/** Stores null as a text. */
const nullAsDash = {
  to: (value: string | null) => value ?? '-',
  from: (stored: string | null) => (stored === '-' ? null : stored),
}
/** Shows NULL as 0. */
const nullAsZero = { to: (value: number | null) => value, from: (stored: number | null) => Number(stored) }
/** Reads NULL as NaN by mistake: no filter with a value finds it. */
const nullAsNaN = {
  to: (value: number | null) => value,
  from: (stored: number | null) => Number.parseInt(`${stored}`, 10),
}
/** Stores 1970-01-01 as NULL. */
const epochAsNull = {
  to: (value: Date | null) => (value?.getTime() ? value.toISOString() : null),
  from: (stored: string | null) => new Date(stored ?? 0),
}

const text = { type: 'varchar', length: 40, nullable: true } as const

@Entity()
@Resource({ auth: permitAllAsUser1 })
class Task {
  @PrimaryGeneratedColumn() id!: number
  @Column({ ...text, transformer: noneAsNull }) state!: string
  @Column({ type: 'int', nullable: true, transformer: falseAsNull }) done!: boolean
  @Column({ type: 'int', nullable: true, transformer: nullAsFalse }) seen!: boolean
  @Column({ ...text, transformer: emptyAsNull }) note!: string
  @Column({ ...text, transformer: emptyIsLost }) lost!: string
  @Column({ ...text, transformer: [freeAsEmpty, emptyAsNull] }) chain!: string
  @Column({ ...text, transformer: nullAsDash }) dash!: string
  @Column({ ...text, transformer: epochAsNull }) at!: Date
  @Column({ type: 'int', nullable: true, transformer: nullAsZero }) zero!: number
  @Column({ type: 'int', nullable: true, transformer: nullAsNaN }) nan!: number
  @OneToMany('Step', 'task') steps!: Step[]
}

@Entity()
@Resource({ auth: permitAllAsUser1 })
class Step {
  @PrimaryGeneratedColumn() id!: number
  @ManyToOne(() => Task, 'steps', { nullable: true }) task!: Task | null
}

class Stateful {
  @PrimaryGeneratedColumn() id!: number
  @Column({ ...text, unique: true, transformer: noneAsNull }) state!: string
  @Column({ default: 0 }) count!: number
}

@Entity()
@Resource({ auth: permitAllAsUser1, scope: () => ({ not: { state: 'none' } }) })
class WithoutNone extends Stateful {}

@Entity()
@Resource({ auth: permitAllAsUser1, scope: () => ({ state__in: ['none', 'open'] }) })
class NoneOrOpen extends Stateful {}

@Entity()
@Resource({ auth: permitAllAsUser1, scope: () => ({ state__ne: 'open' }) })
class NotOpen extends Stateful {}

@Entity()
@Resource({ auth: permitAllAsUser1, scope: () => ({ not: { state__gt: 'none' } }) })
class Ordered extends Stateful {}

@Entity()
@Resource({
  auth: permitAllAsUser1,
  may: { create: true, update: { not: { state: 'none' } }, delete: { not: { state: 'none' } } },
})
class Permitted extends Stateful {}

@Entity()
@Resource({ auth: permitAllAsUser1, scope: () => ({ task__state: 'none' }) })
class NoneStep {
  @PrimaryGeneratedColumn() id!: number
  @ManyToOne(() => Task, { nullable: true }) task!: Task | null
}

/** Its key is never null. */
@Entity()
@Resource({ auth: permitAllAsUser1 })
class Code {
  @PrimaryColumn({ length: 20, transformer: noneAsNull }) code!: string
}

@Entity()
@Resource({ auth: permitAllAsUser1 })
class Coded {
  @PrimaryGeneratedColumn() id!: number
  @ManyToOne(() => Code, { nullable: true }) code!: Code | null
}

@Entity()
@Resource({ auth: permitAllAsUser1 })
class Part {
  @PrimaryColumn({ length: 20, transformer: noneAsNull }) code!: string
  @PrimaryColumn() number!: number
}

@Entity()
@Resource({ auth: permitAllAsUser1 })
class Parted {
  @PrimaryGeneratedColumn() id!: number
  @ManyToOne(() => Part, { nullable: true }) part!: Part | null
}

const stateful = { withoutNone: WithoutNone, noneOrOpen: NoneOrOpen, notOpen: NotOpen, ordered: Ordered }

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [Task, Step, NoneStep, Permitted, Code, Coded, Part, Parted, ...Object.values(stateful)],
    columnOrder: 0,
  })
  await world.sql(`
    INSERT INTO "task" ("state", "done", "seen", "note", "lost", "chain", "dash", "at", "zero", "nan") VALUES
      ('open', 1, 1, 'x', 'x', 'x', 'x', '2024-02-29T10:20:30.000Z', 0, 0),
      (NULL, NULL, 0, NULL, NULL, NULL, '-', NULL, NULL, NULL),
      ('shut', NULL, NULL, 'y', 'y', 'y', NULL, '2025-02-28T10:20:30.000Z', 1, 1)`)
  await world.sql('INSERT INTO "step" ("taskId") VALUES (1), (2), (3), (NULL)')
  await world.sql('INSERT INTO "none_step" ("taskId") VALUES (1), (2), (3), (NULL)')
  for (const table of ['without_none', 'none_or_open', 'not_open', 'ordered', 'permitted']) {
    await world.sql(`INSERT INTO "${table}" ("state", "count") VALUES (NULL, 0), ('open', 0), ('shut', 0)`)
  }
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})
const { get, ids, post, put } = apiOf(() => world.url)

test('records show the values', async () => {
  const { objects } = (await get('task/?ordering=id')).json() as { objects: object[] }
  expect(objects).toMatchObject([
    {
      state: 'open',
      done: true,
      seen: true,
      note: 'x',
      lost: 'x',
      chain: 'x',
      dash: 'x',
      at: '2024-02-29 10:20:30',
      zero: 0,
      nan: 0,
    },
    {
      state: 'none',
      done: false,
      seen: false,
      note: '',
      lost: null,
      chain: 'free',
      dash: null,
      at: '1970-01-01 00:00:00',
      zero: 0,
      nan: 'NaN',
    },
    {
      state: 'shut',
      done: false,
      seen: false,
      note: 'y',
      lost: 'y',
      chain: 'y',
      dash: null,
      at: '2025-02-28 10:20:30',
      zero: 1,
      nan: 1,
    },
  ])
})

test.each<readonly [filter: string, found: readonly number[]]>([
  ['state=none', [2]],
  ['state=open', [1]],
  ['state=open&state=none', [1, 2]],
  ['state__in=none,open', [1, 2]],
  ['state__in=open,shut', [1, 3]],
  ['state__in=none,none', [2]],
  ['state__ne=none', [1, 3]],
  ['state__ne=open', [2, 3]],
  ['state__ne=open&state__ne=none', [3]],
  ['not=(state:none)', [1, 3]],
  ['not=(state:open)', [2, 3]],
  ['not=(state__ne:none)', [2]],
  ['not=(state__ne:open)', [1]],
  ['or=(state:none,state:open)', [1, 2]],
  // What is stored as null is null too.
  ['state__is=null', [2]],
  ['state__is=not_null', [1, 3]],
  ['done=false', [2, 3]],
  ['done=true', [1]],
  ['done__ne=true', [2, 3]],
  ['done__ne=false', [1]],
  ['done__is=false', [2, 3]],
  ['done__is=true', [1]],
  ['not=(done__is:false)', [1]],
  ['seen=false', [2, 3]],
  ['seen=true', [1]],
  ['seen__ne=false', [1]],
  ['seen__ne=true', [2, 3]],
  ['seen__is=false', [2, 3]],
  ['not=(seen:false)', [1]],
  ['not=(seen:true)', [2, 3]],
  ['note=', [2]],
  ['note__ne=', [1, 3]],
  ['note__ne=x', [2, 3]],
  ['note__in="",x', [1, 2]],
  // No record shows an empty text, and a comparison with null is never true.
  ['lost=', []],
  ['lost__in="",x', [1]],
  ['lost__ne=', [1, 3]],
  ['lost__ne=x', [3]],
  ['not=(lost:"")', [1, 2, 3]],
  // TypeORM applies transformers in their order, and on reading in the reverse order.
  ['chain=free', [2]],
  ['chain__ne=free', [1, 3]],
  ['not=(chain:free)', [1, 3]],
  ['chain__in=free,x', [1, 2]],
  // An empty text would be stored as NULL too.
  ['chain=', [2]],
  ['dash__is=null', [2, 3]],
  ['dash__is=not_null', [1]],
  ['dash=x', [1]],
  ['dash__ne=x', []],
  ['dash__ne=y', [1]],
  ['not=(dash:x)', [2, 3]],
  ['not=(dash__is:null)', [1]],
  ['at=1970-01-01', [2]],
  ['at__ne=1970-01-01', [1, 3]],
  ['at__ne=2024-02-29T10:20:30Z', [2, 3]],
  ['at__in=1970-01-01,2024-02-29T10:20:30Z', [1, 2]],
  ['at__in=2001-01-01,2001-01-02,2001-01-03,2001-01-04,1970-01-01,2024-02-29T10:20:30Z', [1, 2]],
  ['zero=0', [1, 2]],
  ['zero__ne=0', [3]],
  ['zero__ne=1', [1, 2]],
  ['nan=0', [1]],
  ['nan__ne=1', [1]],
  ['steps__task__state=none', [2]],
])('a filter finds the records that show its value: %s', async (filter, found) => {
  const query = filter.replaceAll('"', '%22')
  // Twice, because the second request uses the statement of the first.
  for (const _ of [1, 2]) expect(await ids(`task/?ordering=id&${query}`)).toEqual(found)
})

test.each<readonly [filter: string, found: readonly number[]]>([
  ['task__state=none', [2]],
  ['task__state__in=none,open', [1, 2]],
  ['task__state__ne=open', [2, 3]],
  ['task__done=false', [2, 3]],
  ['task__done__ne=true', [2, 3]],
  ['task__seen=false', [2, 3]],
  ['task__steps__task__state=none', [2]],
  ['not=(task__state:none)', [1, 3, 4]],
  ['task__dash__is=null', [2, 3, 4]],
])('a missing related record does not show the value: %s', async (filter, found) => {
  expect(await ids(`step/?ordering=id&${filter}`)).toEqual(found)
})

test.each([
  'state__gt=none',
  'state__gte=none',
  'state__lt=none',
  'state__lte=none',
  'state__like=none',
  'note__ilike=',
])('a value that is stored as null has no order and matches no pattern: %s', async (filter) => {
  const reply = await get(`task/?${filter}`)
  const [field] = filter.split('=')
  expect(reply.json()).toMatchObject({
    status: 400,
    errors: [{ field, message: 'has a value that is stored as null, which only eq, ne, in and is can compare' }],
  })
})

test('the same filter has the right result with a value that is stored as null and with another one', async () => {
  for (const _ of [1, 2]) {
    expect(await ids('task/?state=open')).toEqual([1])
    expect(await ids('task/?state=none')).toEqual([2])
  }
})

describe('row scopes and permissions', () => {
  test('a row scope contains the records that show its value', async () => {
    expect(await ids('withoutnone/?ordering=id')).toEqual([2, 3])
    expect((await get('withoutnone/1/')).status).toBe(404)
    expect(await ids('noneoropen/?ordering=id')).toEqual([1, 2])
    expect(await ids('notopen/?ordering=id')).toEqual([1, 3])
    expect(await ids('nonestep/?ordering=id')).toEqual([2])
  })

  test('a row scope permits writes of the records that show its value', async () => {
    expect((await post('withoutnone', { state: 'none' })).status).toBe(403)
    expect((await post('noneoropen', { state: 'none' })).json()).toMatchObject({ state: 'none' })
    expect((await put('notopen/1', { count: 1 })).json()).toMatchObject({ state: 'none', count: 1 })
  })

  test('a permission contains the records that show its value', async () => {
    expect((await put('permitted/1', { count: 1 })).status).toBe(403)
    expect((await send(world.url, 'DELETE /api/permitted/1/')).status).toBe(403)
    expect((await put('permitted/2', { state: 'none' })).status).toBe(403)
    expect((await put('permitted/2', { count: 1 })).json()).toMatchObject({ count: 1 })
  })

  test('a row scope that orders a value which is stored as null is an error of the application', async () => {
    expect((await get('ordered/')).status).toBe(500)
    const message = 'state__gt has a value that is stored as null, which only eq, ne, in and is can compare'
    expect((world.faults as unknown[]).splice(0).map(String)).toEqual([expect.stringContaining(message)])
  })
})

test('a foreign key with a value that would be stored as null is refused', async () => {
  expect((await post('code', { code: 'a' })).status).toBe(201)
  expect((await post('coded', { code_id: 'a' })).json()).toMatchObject({ id: 1, code_id: 'a' })
  const refused = { status: 400, errors: [{ field: 'code_id', message: 'points to no code' }] }
  expect((await post('coded', { code_id: 'none' })).json()).toMatchObject(refused)
  expect((await put('coded/1', { code_id: 'none' })).json()).toMatchObject(refused)
  expect((await get('coded/1')).json()).toMatchObject({ code_id: 'a' })
})

test('a foreign key of several columns with a part that would be stored as null is refused', async () => {
  expect((await post('part', { code: 'a', number: 1 })).status).toBe(201)
  expect((await post('parted', { part_id: 'a,1' })).json()).toMatchObject({ id: 1, part_id: 'a,1' })
  const refused = { status: 400, errors: [{ field: 'part_id', message: 'points to no part' }] }
  expect((await post('parted', { part_id: 'none,1' })).json()).toMatchObject(refused)
  expect((await put('parted/1', { part_id: 'none,1' })).json()).toMatchObject(refused)
  expect((await get('parted/1')).json()).toMatchObject({ part_id: 'a,1' })
})

test('on_conflict refuses a value that is stored as null, which no unique constraint compares', async () => {
  const upsert = async (state: string) => {
    const reply = await send(world.url, 'POST /api/permitted/?on_conflict=state', { body: { state, count: 7 } })
    return reply.json()
  }
  expect(await upsert('none')).toMatchObject({
    status: 400,
    errors: [{ field: 'state', message: 'must not be stored as null, because on_conflict names it' }],
  })
  expect(await upsert('shut')).toMatchObject({ id: 3, count: 7 })
})
