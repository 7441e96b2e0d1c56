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
 * A record is visible by its key, and can be written and referred to, if the list shows it: statements for one record evaluate the same
 * row scope in another form than lists.
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

const projectIds = ['p1', 'p2', 'p3', 'p4', 'p5', 'p6']
const seatIds = ['1,a', '1,b', '2,a', '2,b']

interface Id {
  readonly id: number
}

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [Project, Task, Note, Person, Seat, Booking],
    seed: async ({ manager }) => {
      const [ann, bob, cy, dan] = [1, 2, 3, 4].map((id) => ({ id })) as [Id, Id, Id, Id]
      await manager.save(
        Person,
        ['ann', 'bob', null, 'dan'].map((name) => ({ name })),
      )
      await manager.save(Person, { id: 2, boss: ann })
      await manager.save(Person, { id: 3, boss: bob })
      const members = [[ann], [ann, bob], [cy], [], [dan], [bob, cy, dan]]
      const leads = [ann, cy, null, bob, dan, null]
      await manager.save(
        Project,
        projectIds.map((id, index) => ({ id, lead: leads[index] ?? null, members: members[index] ?? [] })),
      )
      await manager.save(Task, [
        { project: { id: 'p1' }, hours: 1, watchers: [ann, bob] },
        { project: { id: 'p1' }, hours: null, watchers: [] },
        { project: { id: 'p2' }, hours: 5, watchers: [cy] },
        { project: { id: 'p3' }, hours: null, watchers: [dan] },
        { project: { id: 'p6' }, hours: 2, watchers: [ann, dan] },
        { project: null, hours: 1, watchers: [ann] },
      ])
      await manager.softDelete(Person, 4)
      const [first, second, third] = await manager.save(Seat, [
        { row: 1, place: 'a', guests: [ann, cy] },
        { row: 1, place: 'b', guests: [bob] },
        { row: 2, place: 'a', guests: [dan] },
        { row: 2, place: 'b', guests: [] },
      ])
      await manager.getRepository<object>(Booking).save([
        { seat: first, day: 'mon', person: ann },
        { seat: first, day: null, person: cy },
        { seat: second, day: 'tue', person: null },
        { seat: third, day: 'mon', person: dan },
      ])
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

test('Row scopes: a record is found by its key if and only if the list shows it', async () => {
  await fc.assert(
    fc.asyncProperty(filtersOf(onProjects), filtersOf(onSeats), async (projectScope, seatScope) => {
      scope = projectScope
      seats = seatScope
      const items = { project: projectIds, seat: seatIds, task: [1, 2, 3, 4, 5, 6] }
      const bodies: Readonly<Record<string, object>> = { project: { title: 'b' }, seat: { title: 'b' }, task: {} }
      for (const [resource, all] of Object.entries(items)) {
        const shown = await shownIds(resource)
        for (const id of all) {
          const expected = shown.includes(id) ? 200 : 404
          const path = `/api/${resource}/${id}/`
          const statuses = [await statusOf(`GET ${path}`), await statusOf(`PATCH ${path}`, bodies[resource])]
          expect([path, ...statuses]).toEqual([path, expected, expected])
        }
      }
      const shown = await shownIds('project')
      for (const id of projectIds) {
        const created = await statusOf('POST /api/note/?dry_run=true', [{ project_id: id }])
        // Several keys are looked up by another form of the scope.
        const both = [{ project_id: id }, { project_id: id === 'p1' ? 'p2' : 'p1' }]
        const areShown = both.every(({ project_id }) => shown.includes(project_id))
        const together = await statusOf('POST /api/note/?dry_run=true', both)
        expect([id, together]).toEqual([id, areShown ? 200 : 400])
        expect([id, created]).toEqual([id, shown.includes(id) ? 200 : 400])
      }
    }),
    { numRuns: 25 },
  )
}, 120_000)
