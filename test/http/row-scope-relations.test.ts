import {
  ChildEntity,
  Column,
  DeleteDateColumn,
  Entity,
  JoinColumn,
  ManyToOne,
  OneToMany,
  OneToOne,
  PrimaryColumn,
  type Relation,
  TableInheritance,
} from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf, send } from '../client'
import { permitAllAsUser1 } from '../support/access'
import { openWorld, type World } from '../world/world'

/** Row scopes that follow relations of every kind: soft deletion, inheritance, composite keys, one-to-one, embedded entities. */

@Entity()
@TableInheritance({ column: { type: 'varchar', length: 10, name: 'kind' } })
class Group {
  @PrimaryColumn() id!: number
  @Column({ type: 'varchar', length: 10 }) name!: string
  @DeleteDateColumn() deleted!: Date | null
}

@ChildEntity()
@Resource({ auth: permitAllAsUser1, scope: () => ({ name__ne: 'closed' }) })
class Team extends Group {
  @OneToMany(
    () => Match,
    ({ team }) => team,
  )
  matches!: Relation<Match>[]
}

@ChildEntity()
class Club extends Group {}

@Entity()
@TableInheritance({ column: { type: 'varchar', length: 10, name: 'kind' } })
class Event {
  @PrimaryColumn() id!: number
}

@ChildEntity()
@Resource({ auth: permitAllAsUser1, scope: { through: 'team' } })
class Match extends Event {
  @ManyToOne(
    () => Team,
    ({ matches }) => matches,
    { nullable: true, createForeignKeyConstraints: false },
  )
  team!: Relation<Team> | null
}

@ChildEntity()
class Party extends Event {}

/** Has a composite key. */
@Entity()
@Resource({ auth: permitAllAsUser1, scope: () => ({ open: true }) })
class Seat {
  @PrimaryColumn() row!: number
  @PrimaryColumn() place!: number
  @Column({ type: 'boolean' }) open!: boolean
  @OneToOne(
    () => Ticket,
    ({ seat }) => seat,
  )
  ticket!: Relation<Ticket>
}

class Details {
  @ManyToOne(() => Team, { nullable: true }) favourite!: Relation<Team> | null
}

@Entity()
@Resource({ auth: permitAllAsUser1, scope: { through: 'seat' } })
class Ticket {
  @PrimaryColumn() id!: number
  @OneToOne(
    () => Seat,
    ({ ticket }) => ticket,
    { nullable: true },
  )
  @JoinColumn()
  seat!: Relation<Seat> | null
  @Column(() => Details) details!: Details
}

/** The row scope follows a relation of an embedded entity. */
@Entity()
@Resource({ auth: permitAllAsUser1, scope: { through: 'details.favourite' } })
class Fan {
  @PrimaryColumn() id!: number
  @Column(() => Details) details!: Details
}

/** Follows the inverse side of one-to-one, and relations of subclasses. */
@Entity()
@Resource({
  auth: permitAllAsUser1,
  scope: () => [{ seat__ticket__details__favourite__matches__id: 1 }, { match__team__name: 'red', match__id: 2 }],
})
class Guest {
  @PrimaryColumn() id!: number
  @ManyToOne(() => Seat, { nullable: true }) seat!: Relation<Seat> | null
  @ManyToOne(() => Match, { nullable: true }) match!: Relation<Match> | null
}

/** Has no row scope. The scope of its match follows a relation to a subclass. */
@Entity()
@Resource({ auth: permitAllAsUser1 })
class Visit {
  @PrimaryColumn() id!: number
  @ManyToOne(() => Match, { nullable: true }) match!: Relation<Match> | null
}

/** Its scope and `may` follow relations to two subclasses of one table. */
@Entity()
@Resource({
  auth: permitAllAsUser1,
  bulk: true,
  scope: () => ({ not: { team__name: 'red' } }),
  may: { update: () => ({ club__name: 'club' }) },
})
class Trip {
  @PrimaryColumn() id!: number
  @Column({ type: 'varchar', length: 10, default: 'old' }) note!: string
  @ManyToOne(() => Team, { nullable: true }) team!: Relation<Team> | null
  @ManyToOne(() => Club, { nullable: true }) club!: Relation<Club> | null
}

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Group, Team, Club, Event, Match, Party, Seat, Ticket, Fan, Guest, Visit, Trip] })
  const save = (entity: new () => object, rows: readonly object[]): Promise<unknown> =>
    world.dataSource.getRepository<object>(entity).save([...rows])
  await save(Team, [
    { id: 1, name: 'red' },
    { id: 2, name: 'closed' },
    { id: 3, name: 'gone' },
  ])
  await world.dataSource.getRepository(Team).softDelete(3)
  await save(Club, [{ id: 4, name: 'club' }])
  await save(Match, [
    { id: 1, team: { id: 1 } },
    { id: 2, team: { id: 1 } },
    { id: 3, team: { id: 2 } },
    { id: 4, team: { id: 3 } },
    { id: 5, team: { id: 4 } },
    { id: 6, team: null },
  ])
  await save(Party, [{ id: 9 }])
  await save(Seat, [
    { row: 1, place: 1, open: true },
    { row: 1, place: 2, open: false },
    { row: 2, place: 1, open: true },
  ])
  await save(Ticket, [
    { id: 1, seat: { row: 1, place: 1 }, details: { favourite: { id: 1 } } },
    { id: 2, seat: { row: 1, place: 2 }, details: { favourite: { id: 1 } } },
    { id: 3, seat: { row: 2, place: 1 }, details: { favourite: { id: 2 } } },
    { id: 4, seat: null, details: { favourite: null } },
  ])
  await save(
    Fan,
    [1, 2, 3].map((team) => ({ id: team, details: { favourite: { id: team } } })),
  )
  await save(Guest, [
    { id: 1, seat: { row: 1, place: 1 }, match: { id: 3 } },
    { id: 2, seat: { row: 1, place: 2 }, match: null },
    { id: 3, seat: { row: 2, place: 1 }, match: { id: 2 } },
    { id: 4, seat: { row: 2, place: 1 }, match: { id: 1 } },
    { id: 5, seat: null, match: { id: 3 } },
  ])
  await save(Visit, [
    { id: 1, match: { id: 1 } },
    { id: 2, match: { id: 3 } },
    { id: 3, match: { id: 2 } },
  ])
  await save(Trip, [
    { id: 1, team: { id: 1 }, club: { id: 4 } },
    { id: 2, team: { id: 2 }, club: { id: 4 } },
    { id: 3, team: { id: 2 }, club: null },
  ])
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})
const { ids } = apiOf(() => world.url)

test.each([
  ['team/', [1]],
  ['match/', [1, 2]],
  ['team/?matches__id__gte=1', [1]],
  ['match/?team__name=red', [1, 2]],
  ['team/?matches__team__matches__id=2', [1]],
  ['match/?team__matches__id=2', [1, 2]],
  ['seat/', ['1,1', '2,1']],
  ['ticket/', [1, 3]],
  ['seat/?ticket__id__gte=1', ['1,1', '2,1']],
  ['ticket/?seat__open=true', [1, 3]],
  ['ticket/?details__favourite__name=red', [1]],
  ['ticket/?details__favourite__name__is=null', [3]],
  ['fan/', [1]],
  ['guest/', [1, 2, 3]],
  ['guest/?seat__open__is=null', [2]],
  ['guest/?match__team__name__is=null', [1, 2]],
  ['visit/?ordering=-match__id,id', [3, 1, 2]],
  ['visit/?ordering=-match__id,id&count=exact', [3, 1, 2]],
  ['visit/?ordering=match__id__nullslast,id&limit=2', [1, 3]],
])('Row scopes: relations of every kind: %s', async (path, expected) => {
  expect(await ids(path)).toEqual(expected)
})

test('Permissions: a scope and `may` can follow relations to two subclasses', async () => {
  expect(await ids('trip/')).toEqual([2, 3])
  const statuses = []
  for (const id of [1, 2, 3]) {
    statuses.push((await send(world.url, `PATCH /api/trip/${id}/`, { body: { note: 'new' } })).status)
  }
  expect(statuses).toEqual([404, 200, 403])
  const { text } = await send(world.url, 'PATCH /api/trip/?id__lte=2', { body: { note: 'all' } })
  expect(text).toContain('"updated":1')
  expect(await world.sql('SELECT id, note FROM trip ORDER BY id')).toEqual([
    { id: 1, note: 'old' },
    { id: 2, note: 'all' },
    { id: 3, note: 'old' },
  ])
})
