import { BeforeInsert, BeforeUpdate, Column, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf } from '../client'
import { permitAllAsUser1 } from '../support/access'
import { Decimal } from '../support/decimal'
import { isPostgres, types } from '../world/leg'
import { openWorld, type World } from '../world/world'

/** Values that the listener sets. */
let values: object = {}

@Entity()
@Resource({ auth: permitAllAsUser1 })
class Ticket {
  @PrimaryGeneratedColumn() id!: number
  @Column({ default: 'none' }) title!: string
  @Column({ default: 'user' }) role!: string
  @Column({ default: 'empty' }) note!: string
  @Column({ ...types.binary, nullable: true }) bytes!: unknown

  @BeforeInsert()
  @BeforeUpdate()
  setValues(): void {
    Object.assign(this, values)
  }
}

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Ticket] })
})
beforeEach(async () => {
  values = {}
  await world.sql('DELETE FROM "ticket"')
})
afterAll(() => world.close())
const { post, put } = apiOf(() => world.url)
const stored = () => world.sql('SELECT "title", "role", "note" FROM "ticket"')

const body = { title: 'split', role: 'user', note: 'hello' }

// pg would store them as the text of an array or as JSON.
if (!isPostgres)
  describe('values that a listener sets on a column', () => {
    test.each([
      { title: ['t1', 'ADMIN'], note: [] },
      { title: ['t1', 'ADMIN', 'more'] },
      { title: [] },
      { title: ['one'] },
      { title: { a: 1 } },
      { title: Object.create(null) },
    ])('an array or a plain object is not stored: %j', async (set) => {
      const before = world.faults.length
      values = set
      expect((await post('ticket', body)).status).toBe(500)
      expect(await stored()).toEqual([])
      values = {}
      const { id } = (await post('ticket', body)).json() as { id: number }
      values = set
      expect((await put(`ticket/${id}`, { role: 'guest' })).status).toBe(500)
      expect(await stored()).toEqual([body])
      expect(world.faults.slice(before)).toEqual(Array(2).fill(expect.objectContaining({ name: 'TypeError' })))
    })

    test('an object with its own toString() is stored as this text', async () => {
      values = { title: new Decimal('12.50') }
      expect((await post('ticket', body)).json()).toMatchObject({ ...body, title: '12.50' })
    })
  })

test.each([Buffer.from('ab'), Uint8Array.from([97, 98])])(
  'bytes that a listener sets are stored: %p',
  async (bytes) => {
    values = { bytes }
    expect((await post('ticket', body)).json()).toMatchObject(body)
    const [row] = await world.sql('SELECT "bytes" FROM "ticket"')
    expect(String(row?.['bytes'])).toBe('ab')
  },
)
