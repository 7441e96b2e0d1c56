import { BeforeUpdate, Column, Entity, ManyToOne, PrimaryGeneratedColumn } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf } from '../client'
import { permitAll } from '../support/access'
import { openWorld, type World } from '../world/world'

/** Foreign keys of lazy relations: the getter of such a relation starts a query. */

@Entity()
@Resource({ auth: permitAll, bulk: true })
class Page {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'varchar', length: 20, default: '' }) title!: string
  @ManyToOne(() => Page, { nullable: true, lazy: true }) parent!: Promise<Page | null>
}

@Entity()
@Resource({ auth: permitAll })
class Draft {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'varchar', length: 20, default: '' }) title!: string
  @ManyToOne(() => Page, { nullable: true, lazy: true }) page!: Promise<Page | null>
  @BeforeUpdate() setTitle(): void {
    this.title = 'changed'
  }
}

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Page, Draft] })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})
const { post, put } = apiOf(() => world.url)

test('Foreign keys: a POST without a lazy relation does not load it, because nobody would handle an error of this query', async () => {
  world.statements()
  expect((await post('page', { title: 'a' })).status).toBe(201)
  expect((await post('page', [{ title: 'b' }, { parent_id: null }])).status).toBe(201)
  expect(world.statements().filter((sql) => sql.includes('JOIN'))).toEqual([])
})

test('Listeners: a lazy relation that a PUT sets to null is stored', async () => {
  expect((await post('draft', { page_id: 1 })).json()).toMatchObject({ page_id: 1 })
  const changed = await put('draft/1', { page_id: null })
  expect([changed.status, changed.json()]).toEqual([200, { id: 1, title: 'changed', page_id: null }])
})
