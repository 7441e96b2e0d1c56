import {
  Column,
  Entity,
  ManyToOne,
  OneToMany,
  PrimaryGeneratedColumn,
  type Relation,
  Tree,
  TreeChildren,
  TreeParent,
} from 'typeorm'
import { type MountOptions, Resource } from 'typeorm-resources'
import { apiOf, type Reply, send } from '../client'
import { permitAllAsUser1 } from '../support/access'
import { openWorld, type World } from '../world/world'

/** Parallel writes to a tree take their locks in the same order: first the tree, then records. */

@Entity()
@Tree('nested-set')
@Resource({ auth: permitAllAsUser1, bulk: true, nested: ['labels'] })
class Folder {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) name!: string
  @Column({ type: 'int', unique: true, nullable: true }) code!: number | null
  @TreeParent() parent!: Folder | null
  @TreeChildren() children!: Folder[]
  @OneToMany(
    () => Label,
    (label) => label.folder,
  )
  labels!: Relation<Label>[]
}

@Entity()
@Resource({ auth: permitAllAsUser1 })
class Label {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) text!: string
  @ManyToOne(
    () => Folder,
    (folder) => folder.labels,
    { nullable: false },
  )
  folder!: Relation<Folder>
}

@Entity()
class LogEntry {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 40 }) resource!: string
  @Column({ length: 40 }) record!: string
  @Column({ length: 10 }) action!: string
  @Column({ type: 'int', nullable: true }) principal!: number | null
  @Column({ type: 'simple-json' }) changes!: object
}

const variants: readonly (readonly [string, MountOptions])[] = [
  ['without an audit log', {}],
  ['with an audit log', { audit: { entity: LogEntry } }],
]

describe.each(variants)('moves of nodes, %s', (_variant, mount) => {
  let world: World
  let root: number
  beforeAll(async () => {
    world = await openWorld({ entities: [Folder, Label, LogEntry], mount })
    root = await create('root', null)
  })
  afterAll(async () => {
    await world.close()
    expect(world.faults).toEqual([])
  })

  const { post } = apiOf(() => world.url)
  const patch = (path: string, body: object): Promise<Reply> => send(world.url, `PATCH /api/folder/${path}`, { body })
  const create = async (name: string, parent: number | null): Promise<number> =>
    ((await post('folder', { name, parent_id: parent })).json() as { id: number }).id

  /** Writes to nodes, at the same time as moves of the same nodes. */
  type Writes = (ids: readonly number[], text: string) => readonly Promise<Reply>[]
  const others: readonly (readonly [string, Writes])[] = [
    ['other moves', () => []],
    ['changes of several nodes', (ids, text) => ids.map(() => patch(`?id__in=${ids.join(',')}`, { name: text }))],
    [
      'changes of nodes with their labels',
      (ids, text) => ids.map((id) => patch(`${id}/`, { name: text, labels: [{ text }] })),
    ],
    [
      'upserts of nodes',
      (ids, text) =>
        ids.map((code) => send(world.url, 'POST /api/folder/?on_conflict=code', { body: { code, name: text } })),
    ],
    [
      'upserts of several nodes',
      (ids, text) =>
        ids.map(() =>
          send(world.url, 'POST /api/folder/?on_conflict=code', { body: ids.map((code) => ({ code, name: text })) }),
        ),
    ],
  ]

  test.each(others)('and %s do not wait for each other', async (_other, writes) => {
    const parents = [await create('left', root), await create('right', root)]
    const ids: number[] = []
    for (let index = 0; index < 8; index++) ids.push(await create(`node ${index}`, parents[0] ?? null))
    await Promise.all(ids.map((id) => patch(`${id}/`, { code: id })))
    for (let round = 1; round < 6; round++) {
      const moves = ids.map((id) => patch(`${id}/`, { parent_id: parents[round % 2] }))
      const replies = await Promise.all([...writes(ids, `round ${round}`), ...moves])
      expect(replies.filter(({ status }) => status >= 300).map(({ text }) => text)).toEqual([])
    }
  })
})
