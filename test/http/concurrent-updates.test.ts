import {
  Validate,
  type ValidationArguments,
  ValidatorConstraint,
  type ValidatorConstraintInterface,
} from 'class-validator'
import {
  AfterLoad,
  Column,
  DeleteDateColumn,
  Entity,
  JoinColumn,
  ManyToOne,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type Relation,
} from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf } from '../client'
import { permitAll } from '../support/access'
import { Gate } from '../support/gate'
import { openWorld, type World } from '../world/world'

/** Updates of one record at the same time: the result is one that they also have one after the other. */

const gate = new Gate()

@Entity()
@Resource({ auth: permitAll })
class Price {
  @PrimaryGeneratedColumn() id!: number
  @Column('int') amount!: number
  @Column({ type: 'varchar', length: 3 }) currency!: string

  @AfterLoad()
  wait(): Promise<void> {
    return gate.pass()
  }
}

@ValidatorConstraint({ async: true })
class NotAboveTop implements ValidatorConstraintInterface {
  async validate(score: number, { object }: ValidationArguments): Promise<boolean> {
    await gate.pass()
    return score <= (object as Score).top
  }
  defaultMessage(): string {
    return 'must not be above top'
  }
}

@Entity()
@Resource({ auth: permitAll })
class Score {
  @PrimaryGeneratedColumn() id!: number
  @Validate(NotAboveTop) @Column('int') score!: number
  @Column('int') top!: number
}

@ValidatorConstraint({ async: true })
class IsCounted implements ValidatorConstraintInterface {
  async validate(): Promise<boolean> {
    await world.dataSource.getRepository(Room).count()
    await world.dataSource.getRepository(Team).count()
    return true
  }
}

@Entity()
@Resource({ auth: permitAll })
class Room {
  @PrimaryGeneratedColumn() id!: number
  @Validate(IsCounted) @Column({ type: 'varchar', length: 10 }) name!: string
  @Column({ type: 'int', default: 0 }) number!: number
}

@Entity()
@Resource({ auth: permitAll })
class Team {
  @PrimaryColumn({ type: 'varchar', length: 10 }) org!: string
  @PrimaryColumn('int') num!: number
  @DeleteDateColumn() deleted!: Date | null
}

@Entity()
@Resource({ auth: permitAll })
class Player {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'varchar', length: 10 }) org!: string
  @Column('int') num!: number
  @ManyToOne(() => Team)
  @JoinColumn([
    { name: 'org', referencedColumnName: 'org' },
    { name: 'num', referencedColumnName: 'num' },
  ])
  team!: Relation<Team>

  @AfterLoad()
  wait(): Promise<void> {
    return gate.pass()
  }
}

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Price, Score, Room, Team, Player] })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})
const { get, post, put } = apiOf(() => world.url)

/** Sends an update that waits between reading and writing while another one is handled. @returns their statuses */
async function interleave(path: string, first: object, second: object): Promise<readonly number[]> {
  const waits = gate.close()
  const firstReply = put(path, first)
  await waits
  const secondReply = await put(path, second)
  gate.open()
  return [(await firstReply).status, secondReply.status]
}

test('a field that is sent with its old value is written if another request has changed it', async () => {
  await post('price', { amount: 1, currency: 'EUR' })
  const statuses = await interleave('price/1', { amount: 2, currency: 'EUR' }, { amount: 3, currency: 'USD' })
  expect([statuses, (await get('price/1/')).json()]).toEqual([[200, 200], { id: 1, amount: 2, currency: 'EUR' }])
})

test('a field that is not sent keeps the value of the other request', async () => {
  await post('price', { amount: 1, currency: 'EUR' })
  const statuses = await interleave('price/2', { amount: 2 }, { currency: 'USD' })
  expect([statuses, (await get('price/2/')).json()]).toEqual([[200, 200], { id: 2, amount: 2, currency: 'USD' }])
})

test('validators see the record as it is when the update is stored', async () => {
  await post('score', { score: 10, top: 50 })
  const statuses = await interleave('score/1', { score: 40 }, { top: 20 })
  expect([statuses, (await get('score/1/')).json()]).toEqual([[400, 200], { id: 1, score: 10, top: 20 }])
})

test('a reference of several columns is checked as it is when the update is stored', async () => {
  for (const [org, num] of [
    ['x', 1],
    ['y', 1],
    ['x', 2],
    ['y', 2],
  ] as const) {
    await world.dataSource.getRepository(Team).insert({ org, num })
  }
  await world.dataSource.getRepository(Team).softDelete({ org: 'y', num: 2 })
  expect((await post('player', { org: 'x', num: 1 })).status).toBe(201)
  const statuses = await interleave('player/1', { org: 'y' }, { num: 2 })
  expect([statuses, (await get('player/1/')).json()]).toMatchObject([[400, 200], { org: 'x', num: 2 }])
})

test('many updates of a record whose validators run queries are all stored', async () => {
  await post('room', { name: 'blue' })
  for (let round = 0; round < 5; round++) {
    const replies = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        put('room/1', index % 2 === 0 ? { number: index } : { name: `${round}` }),
      ),
    )
    expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 200))
    expect((await get('room/1/')).json()).toMatchObject({ name: `${round}` })
  }
})
