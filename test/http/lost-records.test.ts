import {
  BeforeUpdate,
  Column,
  DeleteDateColumn,
  Entity,
  PrimaryColumn,
  type Relation,
  Tree,
  TreeChildren,
  TreeParent,
  VirtualColumn,
} from 'typeorm'
import { Resource, type Rule } from 'typeorm-resources'
import { apiOf } from '../client'
import { sqlOf } from '../world/leg'
import { openWorld, type World } from '../world/world'

/** Listeners that make a record unreadable by its key in an update: then nothing is written, or the write is checked. */

const asUserOne: Rule = () => ({ id: 1 })
const mine = (me: { readonly id: number | string | null }) => ({ owner: me.id })

abstract class Entry {
  @PrimaryColumn() id!: number
  @Column({ type: 'integer', default: 1 }) owner!: number
  @Column({ type: 'varchar', length: 20, default: 'draft' }) status!: string
}

@Entity()
@Resource({ auth: asUserOne, scope: mine, may: { update: { status: 'draft' } } })
class Deleted extends Entry {
  @DeleteDateColumn() gone!: Date | null
  @BeforeUpdate() remove(): void {
    if (this.status === 'trash') this.gone = new Date()
  }
}

@Entity()
@Resource({ auth: asUserOne, scope: mine, may: { update: { status: 'draft' } } })
class Computed extends Entry {
  @DeleteDateColumn() gone!: Date | null
  @VirtualColumn({ query: () => sqlOf('SELECT 1') }) one!: number
  @BeforeUpdate() remove(): void {
    if (this.status === 'trash') this.gone = new Date()
  }
}

@Entity()
@Resource({ auth: asUserOne, scope: mine })
class Renumbered extends Entry {
  @VirtualColumn({ query: () => sqlOf('SELECT 1') }) one!: number
  @BeforeUpdate() move(): void {
    if (this.status === 'trash') this.id = 99
  }
}

@Entity()
@Tree('materialized-path')
@Resource({ auth: asUserOne, scope: mine })
class Node extends Entry {
  @TreeParent() parent!: Relation<Node> | null
  @TreeChildren() children!: Relation<Node>[]
  @BeforeUpdate() move(): void {
    if (this.status === 'trash') this.id = 99
  }
}

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Deleted, Computed, Renumbered, Node] })
})
afterAll(() => world.close())
const { post, put } = apiOf(() => world.url)

test.each(['deleted', 'computed', 'renumbered', 'node'])(
  'Permissions: a %s that a listener makes unreadable is not written',
  async (name) => {
    for (const id of [1, 2]) expect((await post(name, { id })).status).toBe(201)
    const before = await world.sql(`SELECT * FROM "${name}" ORDER BY "id"`)
    const { status } = await put(`${name}/1`, { status: 'trash', owner: 2, ...(name === 'node' && { parent_id: 2 }) })
    expect([403, 500]).toContain(status)
    expect(await world.sql(`SELECT * FROM "${name}" ORDER BY "id"`)).toEqual(before)
    expect((await put(`${name}/1`, { status: 'draft', owner: 1 })).status).toBe(200)
  },
)
