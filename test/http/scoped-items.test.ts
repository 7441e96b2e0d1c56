import fc from 'fast-check'
import {
  Column,
  DeleteDateColumn,
  Entity,
  JoinTable,
  ManyToMany,
  ManyToOne,
  OneToMany,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type Relation,
} from 'typeorm'
import { type FilterObject, Resource } from 'typeorm-resources'
import { send } from '../client'
import { permitAllAsUser1 } from '../support/access'
import { openWorld, type World } from '../world/world'

/**
 * Lists show the records that a row scope permits, and each of them is visible by its key, and can be written and referred to: statements
 * for one record evaluate the same row scope in another form than lists.
 */

let scope: FilterObject = {}
let seats: FilterObject = {}

@Entity()
@Resource({ auth: permitAllAsUser1, scope: () => scope })
class Project {
  @PrimaryColumn({ length: 10 }) id!: string
  @Column({ default: 'a' }) title!: string
  @ManyToOne('Person', { nullable: true }) lead!: Relation<Person> | null
  @ManyToMany('Person', 'projects') @JoinTable() members!: Relation<Person>[]
  @OneToMany('Task', 'project') tasks!: Relation<Task>[]
}

@Entity()
@Resource({ auth: permitAllAsUser1, scope: { through: 'project' }, bulk: true })
class Task {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'integer', nullable: true }) hours!: number | null
  @ManyToOne(() => Project, 'tasks', { nullable: true }) project!: Relation<Project> | null
  @ManyToMany('Person') @JoinTable() watchers!: Relation<Person>[]
}

/** No scope depends on it. */
@Entity()
@Resource({ auth: permitAllAsUser1, scope: { through: 'project' }, bulk: true })
class Note {
  @PrimaryGeneratedColumn() id!: number
  @ManyToOne(() => Project, { nullable: true }) project!: Relation<Project> | null
}

@Entity()
class Person {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'varchar', length: 10, nullable: true }) name!: string | null
  @DeleteDateColumn() deleted!: Date | null
  @ManyToOne('Person', 'reports', { nullable: true }) boss!: Relation<Person> | null
  @OneToMany('Person', 'boss') reports!: Relation<Person>[]
  @ManyToMany(() => Project, 'members') projects!: Relation<Project>[]
}

/** Has a key of two columns. */
@Entity()
@Resource({ auth: permitAllAsUser1, scope: () => seats })
class Seat {
  @PrimaryColumn() row!: number
  @PrimaryColumn({ length: 10 }) place!: string
  @Column({ default: 'a' }) title!: string
  @OneToMany('Booking', 'seat') bookings!: Relation<Booking>[]
  @ManyToMany(() => Person) @JoinTable() guests!: Relation<Person>[]
}

@Entity()
class Booking {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'varchar', length: 10, nullable: true }) day!: string | null
  @ManyToOne(() => Seat, 'bookings', { nullable: true }) seat!: Relation<Seat> | null
  @ManyToOne(() => Person, { nullable: true }) person!: Relation<Person> | null
}

/** Row of a table: values, keys of related records, and lists of them. */
type Row = Readonly<Record<string, string | number | boolean | null | readonly (string | number)[]>>

const persons: readonly Row[] = [
  { id: 1, name: 'ann', boss: null },
  { id: 2, name: 'bob', boss: 1 },
  { id: 3, name: null, boss: 2 },
  { id: 4, name: 'dan', boss: null, isDeleted: true },
]
const projects: readonly Row[] = [
  { id: 'p1', lead: 1, members: [1] },
  { id: 'p2', lead: 3, members: [1, 2] },
  { id: 'p3', lead: null, members: [3] },
  { id: 'p4', lead: 2, members: [] },
  { id: 'p5', lead: 4, members: [4] },
  { id: 'p6', lead: null, members: [2, 3, 4] },
]
const tasks: readonly Row[] = [
  { id: 1, project: 'p1', hours: 1, watchers: [1, 2] },
  { id: 2, project: 'p1', hours: null, watchers: [] },
  { id: 3, project: 'p2', hours: 5, watchers: [3] },
  { id: 4, project: 'p3', hours: null, watchers: [4] },
  { id: 5, project: 'p6', hours: 2, watchers: [1, 4] },
  { id: 6, project: null, hours: 1, watchers: [1] },
]
const places: readonly Row[] = [
  { id: '1,a', row: 1, place: 'a', guests: [1, 3] },
  { id: '1,b', row: 1, place: 'b', guests: [2] },
  { id: '2,a', row: 2, place: 'a', guests: [4] },
  { id: '2,b', row: 2, place: 'b', guests: [] },
]
const bookings: readonly Row[] = [
  { id: 1, seat: '1,a', day: 'mon', person: 1 },
  { id: 2, seat: '1,a', day: null, person: 3 },
  { id: 3, seat: '1,b', day: 'tue', person: null },
  { id: 4, seat: '2,a', day: 'mon', person: 4 },
]

/** The records that a relation leads to, by its name. */
const relations: Readonly<Record<string, (row: Row) => readonly Row[]>> = {
  lead: toOne(persons, 'lead'),
  boss: toOne(persons, 'boss'),
  person: toOne(persons, 'person'),
  reports: inverse(persons, 'boss'),
  tasks: inverse(tasks, 'project'),
  bookings: inverse(bookings, 'seat'),
  members: listed(persons, 'members'),
  watchers: listed(persons, 'watchers'),
  guests: listed(persons, 'guests'),
  projects: (person) => projects.filter(({ members }) => keysIn(members).includes(person['id'])),
}
function toOne(target: readonly Row[], name: string): (row: Row) => readonly Row[] {
  return (row) => target.filter(({ id }) => id === row[name])
}
function inverse(target: readonly Row[], name: string): (row: Row) => readonly Row[] {
  return ({ id }) => target.filter((row) => row[name] === id)
}
function listed(target: readonly Row[], name: string): (row: Row) => readonly Row[] {
  return (row) => target.filter(({ id }) => keysIn(row[name]).includes(id))
}
function keysIn(value: unknown): readonly unknown[] {
  return value as readonly unknown[]
}

/** Whether a row matches a filter object (specification: Filter objects, Filters through relations). */
function matches(row: Row, { or, not, ...filters }: FilterObject): boolean {
  if (Array.isArray(or) && !or.some((filter) => matches(row, filter))) return false
  if (not !== undefined && matches(row, not as FilterObject)) return false
  return hasValues(row, filters)
}

/** Filters with the same relation apply to the same related record. Without one, each value is null. */
function hasValues(row: Row | null, filters: Readonly<Record<string, unknown>>): boolean {
  const within = new Map<string, Record<string, unknown>>()
  for (const [name, operand] of Object.entries(filters)) {
    const [first = '', ...rest] = name.split('__')
    if (first in relations) within.set(first, { ...within.get(first), [rest.join('__')]: operand })
    else if (!hasValue(row?.[first] ?? null, rest[0], operand)) return false
  }
  return [...within].every(([name, inner]) => {
    const related = row === null ? [] : (relations[name]?.(row) ?? []).filter(({ isDeleted }) => isDeleted !== true)
    return (related.length > 0 ? related : [null]).some((one) => hasValues(one, inner))
  })
}

function hasValue(value: Row[string], operator: string | undefined, operand: unknown): boolean {
  if (operator === 'is') return (value === null) === (operand === 'null')
  if (value === null) return false
  if (operator === 'gte') return Number(value) >= Number(operand)
  return (value === operand) === (operator === undefined)
}

const toReference = (id: Row[string] | undefined) => (id === null || id === undefined ? null : { id })
const toReferences = (ids: unknown) => keysIn(ids).map((id) => ({ id }))

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [Project, Task, Note, Person, Seat, Booking],
    seed: async ({ manager }) => {
      const save = (entity: new () => object, rows: readonly object[]) => manager.getRepository(entity).save([...rows])
      for (const { id, name, boss } of persons) await save(Person, [{ id, name, boss: toReference(boss) }])
      await save(
        Project,
        projects.map(({ id, lead, members }) => ({ id, lead: toReference(lead), members: toReferences(members) })),
      )
      for (const { hours, project, watchers } of tasks) {
        await save(Task, [{ hours, project: toReference(project), watchers: toReferences(watchers) }])
      }
      await manager.softDelete(Person, 4)
      await save(
        Seat,
        places.map(({ row, place, guests }) => ({ row, place, guests: toReferences(guests) })),
      )
      for (const { seat, day, person } of bookings) {
        const { row, place } = places.find(({ id }) => id === seat) ?? {}
        await save(Booking, [{ seat: { row, place }, day, person: toReference(person) }])
      }
    },
  })
})
afterAll(async () => {
  expect(world.faults).toEqual([])
  await world.close()
})

const names = ['ann', 'bob', 'dan', 'eve']
const nulls = ['null', 'not_null']
const ids = [1, 2, 3, 4, 9]

/** Names of filters and values for them. */
const onProjects: Readonly<Record<string, readonly (string | number)[]>> = {
  id: ['p1', 'p6'],
  lead__name: names,
  lead__name__is: nulls,
  lead__boss__name__is: nulls,
  lead__reports__name: names,
  lead__reports__id__is: nulls,
  members__id: ids,
  members__name__ne: names,
  members__name__is: nulls,
  members__boss__name__is: nulls,
  members__reports__name: names,
  members__projects__members__name: names,
  tasks__hours__gte: [1, 2, 9],
  tasks__hours__is: nulls,
  tasks__watchers__name: names,
  tasks__watchers__id__is: nulls,
  tasks__watchers__projects__tasks__hours: [1, 2, 5],
}
const onSeats: Readonly<Record<string, readonly (string | number)[]>> = {
  row: [1, 2],
  bookings__day: ['mon', 'tue'],
  bookings__day__is: nulls,
  bookings__person__name: names,
  bookings__person__name__is: nulls,
  bookings__person__projects__tasks__hours__gte: [1, 2, 5],
  guests__name: names,
  guests__name__is: nulls,
  guests__projects__lead__name: names,
}

function filtersOf(values: typeof onProjects): fc.Arbitrary<FilterObject> {
  const single = fc
    .constantFrom(...Object.entries(values))
    .chain(([name, operands]) => fc.constantFrom(...operands).map((operand) => ({ [name]: operand })))
  const both = fc.tuple(single, single)
  const groups = [both.map(([one, two]) => ({ ...one, ...two })), both.map((or) => ({ or: [...or] }))]
  const simple = fc.oneof(single, ...groups)
  return fc.oneof(
    simple,
    simple.map((not) => ({ not })),
    fc.tuple(simple, simple).map(([one, not]) => ({ ...one, not })),
  )
}

const statusOf = async (line: string, body?: unknown): Promise<number> => (await send(world.url, line, { body })).status

/** The keys of the records that a list shows. */
async function shownIds(resource: string): Promise<readonly unknown[]> {
  const { text } = await send(world.url, `GET /api/${resource}/`)
  return JSON.parse(text).objects.map(({ id }: { readonly id: unknown }) => id)
}

const idsOf = (rows: readonly Row[]): Row[string][] => rows.map(({ id = null }) => id)

test('Row scopes: lists show the permitted records, and each is found by its key', async () => {
  await fc.assert(
    fc.asyncProperty(filtersOf(onProjects), filtersOf(onSeats), async (projectScope, seatScope) => {
      scope = projectScope
      seats = seatScope
      const permitted = idsOf(projects.filter((row) => matches(row, scope)))
      const resources = {
        project: [projects, permitted, { title: 'b' }],
        seat: [places, idsOf(places.filter((row) => matches(row, seats))), { title: 'b' }],
        task: [tasks, idsOf(tasks.filter(({ project = null }) => permitted.includes(project))), {}],
      } as const
      for (const [resource, [rows, expected, body]] of Object.entries(resources)) {
        expect([resource, await shownIds(resource)]).toEqual([resource, expected])
        for (const id of idsOf(rows)) {
          const path = `/api/${resource}/${id}/`
          const statuses = [await statusOf(`GET ${path}`), await statusOf(`PATCH ${path}`, body)]
          const status = expected.includes(id) ? 200 : 404
          expect([path, ...statuses]).toEqual([path, status, status])
        }
      }
      for (const id of idsOf(projects)) {
        const created = await statusOf('POST /api/note/?dry_run=true', [{ project_id: id }])
        // Several keys are looked up by another form of the scope.
        const both = [{ project_id: id }, { project_id: id === 'p1' ? 'p2' : 'p1' }]
        const areShown = both.every(({ project_id }) => permitted.includes(project_id))
        const together = await statusOf('POST /api/note/?dry_run=true', both)
        expect([id, together]).toEqual([id, areShown ? 200 : 400])
        expect([id, created]).toEqual([id, permitted.includes(id) ? 200 : 400])
      }
    }),
    { numRuns: 25 },
  )
}, 120_000)
