import {
  Column,
  type ColumnOptions,
  Entity,
  ManyToOne,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type Relation,
} from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf, send } from '../client'
import { permitAllAsUser1 } from '../support/access'
import { idsOf, readPages } from '../support/pages'
import { isMariadb, types } from '../world/leg'
import { openWorld, type World } from '../world/world'

/** Binary columns that a transformer shows as text: keys, foreign keys and other columns. */

const binary: ColumnOptions = isMariadb ? { type: 'binary', length: 16 } : types.binary
const uuid = {
  to: (text: string | null) => text && Buffer.from(text.replaceAll('-', ''), 'hex'),
  from: (bytes: Buffer | null) => bytes?.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-'),
}

@Entity()
@Resource({ auth: permitAllAsUser1, paging: 'keyset' })
class Device {
  @PrimaryColumn({ ...binary, nullable: false, transformer: uuid }) id!: string
  @Column({ ...binary, nullable: true, transformer: uuid }) token!: string
  @Column() title!: string
}

@Entity()
@Resource({ auth: permitAllAsUser1 })
class Reading {
  @PrimaryGeneratedColumn() id!: number
  @ManyToOne(() => Device) device!: Relation<Device>
  @ManyToOne(() => Device, { nullable: true, createForeignKeyConstraints: false }) other!: Relation<Device> | null
}

/** Keys that are not UTF-8 or ASCII, contain NUL, `%`, `_` or `\`, or are equal under some collations. */
const keys = [
  '01890a5d-ac96-774b-bcce-b302099a8057',
  '41424344-4546-4748-494a-4b4c4d4e4f50',
  '61626364-6566-6768-696a-6b6c6d6e6f70',
  '00000000-0000-0000-0000-000000000001',
  '255f5c27-2200-0a0d-ffff-fffefdfcfbfa',
]

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Device, Reading] })
  for (const [index, id] of keys.entries()) {
    const made = await post('device', { id, token: id, title: `device ${index}` })
    expect([made.status, made.json()]).toEqual([201, { id, token: id, title: `device ${index}` }])
  }
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

const { get, ids, post, put } = apiOf(() => world.url)
const others = (id: string): readonly string[] => keys.filter((key) => key !== id)

test.each(keys)('the key %s finds and changes its record', async (id) => {
  expect((await get(`device/${id}/`)).json()).toMatchObject({ id, token: id })
  expect((await put(`device/${id}`, { title: 'changed' })).json()).toMatchObject({ id, title: 'changed' })
  expect((await get(`device/?title=changed&id=${id}`)).json()).toMatchObject({ objects: [{ id }] })
  expect((await put(`device/${id}`, { title: `device ${keys.indexOf(id)}` })).status).toBe(200)
})

test.each(['id', 'token'])('%s is compared byte by byte', async (field) => {
  for (const id of keys) {
    expect(await ids(`device?${field}=${id}`)).toEqual([id])
    expect(await ids(`device?${field}__in=${id},99999999-9999-9999-9999-999999999999`)).toEqual([id])
    expect(new Set(await ids(`device?${field}__ne=${id}`))).toEqual(new Set(others(id)))
  }
})

test.each(['device', 'other'])('%s refers to a binary key', async (relation) => {
  for (const id of keys) {
    const made = await post('reading', { device_id: keys[0], [`${relation}_id`]: id })
    expect([made.status, made.json()]).toMatchObject([201, { [`${relation}_id`]: id }])
    expect(await ids(`reading?${relation}__id=${id}&ordering=-id&limit=1`)).toEqual([
      (made.json() as { id: number }).id,
    ])
  }
  const none = await post('reading', { device_id: keys[0], [`${relation}_id`]: '99999999-9999-9999-9999-999999999999' })
  expect([none.status, none.json()]).toMatchObject([400, { errors: [{ field: `${relation}_id` }] }])
})

test.each(['', 'ordering=-id&', 'ordering=token&', 'ordering=-title&'])(
  'keyset pages contain every record once: %s',
  async (query) => {
    const all = await ids(`device?${query}limit=9`)
    const seen = idsOf(await readPages<{ readonly id: string }>(world.url, `/api/device?${query}limit=2`))
    expect(seen).toEqual(all)
    expect(new Set(seen)).toEqual(new Set(keys))
  },
)

test.each(['like', 'ilike'])('binary columns have no operator %s', async (operator) => {
  expect((await get(`device?token__${operator}=${keys[0]}`)).status).toBe(400)
})

test('a record is deleted by its key', async () => {
  const id = '99999999-aaaa-bbbb-cccc-dddddddddddd'
  expect((await post('device', { id, title: 'gone soon' })).status).toBe(201)
  expect((await send(world.url, `DELETE /api/device/${id}/`)).status).toBe(204)
  expect((await get(`device/${id}/`)).status).toBe(404)
})
