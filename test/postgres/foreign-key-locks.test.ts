import {
  BeforeUpdate,
  Column,
  Entity,
  JoinTable,
  ManyToMany,
  ManyToOne,
  OneToMany,
  PrimaryGeneratedColumn,
  type Relation,
} from 'typeorm'
import { Resource } from 'typeorm-resources'
import { send } from '../client'
import { permitAll } from '../support/access'
import { AuditLine } from '../support/audit-line'
import { openWorld, type World } from '../world/world'

/** Records can be changed while another transaction, such as a long batch, has inserted records that refer to them. */

@Entity()
@Resource({ auth: permitAll, bulk: true, nested: ['parcels'], may: { update: () => ({ rating__gte: 0 }) } })
class Carrier {
  @PrimaryGeneratedColumn() id!: number
  @Column({ unique: true }) code!: string
  @Column({ default: 0 }) rating!: number
  @OneToMany('Parcel', 'carrier') parcels!: Relation<Parcel>[]
}

/** Read and locked before each update, because of the listener. */
@Entity()
@Resource({ auth: permitAll, bulk: true })
class Depot {
  @PrimaryGeneratedColumn() id!: number
  @Column({ unique: true }) code!: string
  @Column({ default: 0 }) rating!: number
  @BeforeUpdate() setRating(): void {
    this.rating++
  }
}

@Entity()
@Resource({ auth: permitAll })
class Parcel {
  @PrimaryGeneratedColumn() id!: number
  @Column({ default: '' }) title!: string
  @ManyToOne(
    () => Carrier,
    ({ parcels }) => parcels,
    { nullable: true },
  )
  carrier!: Relation<Carrier> | null
  @ManyToMany(() => Depot) @JoinTable() depots!: Relation<Depot>[]
}

let world: World
afterEach(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

const requests: readonly (readonly [line: string, body: unknown])[] = [
  ['PATCH /api/carrier/1/', { rating: 7 }],
  ['PATCH /api/depot/1/', { rating: 7 }],
  ['PATCH /api/carrier/?code=a', { rating: 7 }],
  ['PATCH /api/depot/?code=a', { rating: 7 }],
  ['POST /api/carrier/?on_conflict=code', { code: 'a', rating: 7 }],
  ['PATCH /api/carrier/1/', { parcels: [{ id: 1, title: 'new' }] }],
]

test.each([
  ['', undefined],
  [' and an audit log', { entity: AuditLine }],
])('updates do not wait for inserted references, with one statement or several%s', async (_, audit) => {
  world = await openWorld({
    entities: [Carrier, Depot, Parcel, AuditLine],
    mount: { statementTimeout: 1000, ...(audit === undefined ? {} : { audit }) },
  })
  const { dataSource } = world
  await dataSource.getRepository(Carrier).insert([{ code: 'a' }])
  await dataSource.getRepository(Depot).insert([{ code: 'a' }])
  await dataSource.getRepository(Parcel).insert([{ carrier: { id: 1 } }, {}])
  const other = dataSource.createQueryRunner()
  await other.startTransaction()
  await other.manager.getRepository(Parcel).save({ carrier: { id: 1 }, depots: [{ id: 1 }] })
  const replies = []
  for (const [line, body] of requests) replies.push([line, (await send(world.url, line, { body })).status])
  await other.rollbackTransaction()
  await other.release()
  expect(replies).toEqual(requests.map(([line]) => [line, 200]))
})
