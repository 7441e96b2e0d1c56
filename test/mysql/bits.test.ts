import { Column, type DataSource, Entity, Index, JoinColumn, ManyToOne, PrimaryGeneratedColumn } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf, send } from '../client'
import { permitAll } from '../support/access'
import { openWorld, type World } from '../world/world'

/** `bit` columns with transformers and indexes: the database compares such a column with a number, not with bytes. */

const bitTransformer = (to: (value: boolean) => unknown) => ({
  to: (value: boolean | null) => (value === null ? null : to(value)),
  from: (stored: Buffer | null) => stored && stored[0] === 1,
})

@Entity()
@Resource({ auth: permitAll })
class Task {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'bit', nullable: true, transformer: bitTransformer((value) => Buffer.from([Number(value)])) })
  buffer!: boolean
  @Column({ type: 'bit', nullable: true, transformer: bitTransformer((value) => Uint8Array.of(Number(value))) })
  array!: boolean
  @Column({ type: 'bit', nullable: true, transformer: bitTransformer((value) => value) }) same!: boolean
}

const fields = ['buffer', 'array', 'same'] as const

/** TypeORM declares `bit` only without a length: the test changes the length with SQL. */
@Entity()
@Resource({ auth: permitAll, bulk: true })
class Flag {
  @PrimaryGeneratedColumn() id!: number
  @Index() @Column({ type: 'bit', nullable: true }) one!: unknown
  @Index() @Column({ type: 'bit', nullable: true }) eight!: unknown
  @Column({ type: 'bit', unique: true }) code!: unknown
}

@Entity()
@Resource({ auth: permitAll, bulk: true, scope: () => ({ flag_id__ne: '10' }) })
class Use {
  @PrimaryGeneratedColumn() id!: number
  @ManyToOne(() => Flag, { createForeignKeyConstraints: false })
  @JoinColumn({ name: 'flag_code', referencedColumnName: 'code' })
  flag!: Flag
}

/** 2^53 and the next integer, which a double cannot represent. */
const [large, larger] = [`1${'0'.repeat(53)}`, `1${'0'.repeat(52)}1`]

async function lengthen(dataSource: DataSource): Promise<void> {
  await dataSource.query('ALTER TABLE flag MODIFY eight bit(8), MODIFY code bit(64) NOT NULL')
  await dataSource.query(
    'ALTER TABLE `use` MODIFY flag_code bit(64), ADD FOREIGN KEY (flag_code) REFERENCES flag (code)',
  )
}

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Task, Flag, Use], seed: lengthen })
  for (const value of [true, false, null]) {
    const values = Object.fromEntries(fields.map((field) => [field, value]))
    expect((await post('task', values)).json()).toMatchObject(values)
  }
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})
const { ids, post } = apiOf(() => world.url)

test.each(
  fields.flatMap((field) =>
    (
      [
        ['=true', [1]],
        ['=false', [2]],
        ['__ne=true', [2]],
        ['__in=true', [1]],
        ['__in=true,false', [1, 2]],
        ['__is=true', [1]],
        ['__is=false', [2]],
        ['__is=null', [3]],
      ] as const
    ).map(([filter, found]) => [`${field}${filter}`, found] as const),
  ),
)('filters find bits that a transformer shows as booleans: %s', async (query, found) => {
  expect(await ids(`task?${query}`)).toEqual(found)
})

// Bound as text, 0 would be compared in the index as the byte 48.
test('bits with an index are found by the value that they show', async () => {
  const patch = (query: string, body: unknown) => send(world.url, `PATCH /api/flag/?${query}`, { body })
  const flags = [
    { one: '0', eight: '0', code: '0' },
    { one: '1', eight: '110000', code: large },
    { one: null, eight: '11111111', code: larger },
  ]
  for (const flag of flags) expect((await post('flag', flag)).json()).toMatchObject(flag)
  const found: Readonly<Record<string, readonly number[]>> = {
    'one=0': [1],
    'one=1': [2],
    'one__ne=0': [2],
    'one__in=0,1': [1, 2],
    'one__is=null': [3],
    'eight=0': [1],
    'eight=110000': [2],
    'eight__ne=110000': [1, 3],
    'eight__in=0,11111111': [1, 3],
    'code=0': [1],
    [`code=${large}`]: [2],
    [`code=${larger}`]: [3],
    [`code__ne=${larger}`]: [1, 2],
  }
  for (const [query, expected] of Object.entries(found)) {
    expect([query, await ids(`flag?${query}`)]).toEqual([query, expected])
    if (!query.includes('null')) {
      const changed = (await patch(query, { one: null })).json()
      expect([query, changed]).toMatchObject([query, { meta: { updated: expected.length } }])
      for (const { code, one } of flags) await patch(`code=${code}`, { one })
    }
  }
})

test('bits are found by an upsert, a foreign key and a row scope', async () => {
  for (const [id, code] of [
    [1, '0'],
    [3, larger],
  ]) {
    const updated = await send(world.url, 'POST /api/flag/?on_conflict=code', { body: { code, eight: '1' } })
    expect([updated.status, updated.json()]).toMatchObject([200, { id, code, eight: '1' }])
  }
  const made = await post('flag', { code: '10' })
  expect(made.status).toBe(201)
  for (const [code, status] of [
    ['0', 201],
    [larger, 201],
    ['11', 400],
    ['10', 401],
  ] as const) {
    const reply = await post('use', { flag_id: code })
    expect([code, reply.status, reply.text]).toEqual([code, status, expect.any(String)])
  }
  await world.sql(`INSERT INTO "use" ("flag_code") VALUES (b'10')`)
  expect(await ids('use')).toEqual([1, 2])
  expect(await ids(`use?flag_id=${larger}`)).toEqual([2])
  expect(await ids('use?flag__eight=1')).toEqual([1, 2])
})
