import { Check, Column, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf } from '../client'
import { permitAllAsUser1 } from '../support/access'
import { differences } from '../tables/differences'
import { isMariadb, isPostgres, leg } from '../world/leg'
import { openWorld, type World } from '../world/world'

@Entity()
@Check('checked', 'checked < 5')
@Resource({ auth: permitAllAsUser1 })
class Thing {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'varchar', nullable: true }) text!: string | null
  @Column({ type: 'varchar', length: 20, nullable: true, unique: true }) unique!: string | null
  @Column({ type: 'int', nullable: true }) integer!: number | null
  @Column({ type: 'decimal', precision: 20, scale: 2, nullable: true }) decimal!: string | null
  @Column({ type: 'date', nullable: true }) date!: string | null
  @Column({ type: isMariadb ? 'char' : 'character', length: 4, nullable: true }) char!: string | null
  @Column({ type: 'uuid', nullable: true }) uuid!: string | null
  @Column({ type: 'simple-enum', enum: ['small', 'large'], nullable: true }) enum!: string | null
  @Column({ default: 1 }) checked!: number
}

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Thing] })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

const { get, post } = apiOf(() => world.url)
const onThis = <T>(sqlite: T, postgres: T, mariadb: T): T => (isPostgres ? postgres : isMariadb ? mariadb : sqlite)
const upper = '01890A5D-AC96-774B-BCCE-B302099A8057'

async function values(field: string, query: string): Promise<readonly unknown[]> {
  const reply = await get(`thing?${query}`)
  if (reply.status !== 200) throw new Error(reply.text)
  return (reply.json() as { objects: Record<string, unknown>[] }).objects.map((object) => object[field])
}

/** The statuses of POST requests with these bodies. */
async function statuses(...bodies: readonly object[]): Promise<readonly number[]> {
  const found: number[] = []
  for (const body of bodies) found.push((await post('thing', body)).status)
  return found
}

const checks: Readonly<Record<keyof typeof differences, () => Promise<void>>> = {
  order: async () => {
    await statuses({ text: 'b' }, { text: 'a' }, { text: 'B' })
    const order = onThis(['B', 'a', 'b'], ['B', 'a', 'b'], ['a', 'b', 'B'])
    expect(await values('text', 'text__is=not_null&ordering=text,id')).toEqual(order)
    expect(await values('text', 'text__gt=a&ordering=text,id')).toEqual(onThis(['b'], ['b'], ['b', 'B']))
  },
  unique: async () => {
    expect(await statuses({ unique: 'Ann' }, { unique: 'ann' })).toEqual([201, onThis(201, 201, 409)])
    expect(await values('unique', 'unique=Ann')).toEqual(['Ann'])
  },
  integer: async () => {
    expect(await statuses({ integer: 2_147_483_647 }, { integer: 2_147_483_648 })).toEqual([201, onThis(201, 400, 400)])
  },
  decimal: async () => {
    expect(await statuses({ decimal: '123456789012345678.25' })).toEqual([onThis(400, 201, 201)])
  },
  date: async () => {
    expect(await statuses({ date: '1000-01-01' }, { date: '0001-01-01' })).toEqual([201, onThis(201, 201, 400)])
  },
  char: async () => {
    expect((await post('thing', { char: 'ab' })).json()).toMatchObject({ char: onThis('ab', 'ab  ', 'ab') })
  },
  uuid: async () => {
    const lower = upper.toLowerCase()
    const isText = !isPostgres && leg.driver !== 'mariadb'
    expect((await post('thing', { uuid: upper })).json()).toMatchObject({ uuid: isText ? upper : lower })
  },
  enum: async () => {
    await statuses({ enum: 'large' }, { enum: 'small' })
    const order = onThis(['large', 'small'], ['small', 'large'], ['small', 'large'])
    expect(await values('enum', 'enum__is=not_null&ordering=enum')).toEqual(order)
  },
  check: async () => {
    expect(await statuses({ checked: 9 })).toEqual([onThis(400, 400, 201)])
  },
}

test.each(Object.entries(differences))('%s has the documented differences', async (name) => {
  await checks[name as keyof typeof differences]()
})
