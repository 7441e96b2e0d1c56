import { setTimeout } from 'node:timers/promises'
import {
  Column,
  Entity,
  type EntitySubscriberInterface,
  EventSubscriber,
  ManyToOne,
  OneToMany,
  PrimaryGeneratedColumn,
  type Relation,
  Tree,
  TreeChildren,
  TreeParent,
  type UpdateEvent,
} from 'typeorm'
import { IdempotencyKey, Resource } from 'typeorm-resources'
import { type Reply, send } from '../client'
import { permitAllAsUser1 } from '../support/access'
import { Gate } from '../support/gate'
import { openWorld, type World } from '../world/world'

/** Writes to a tree at the isolation level REPEATABLE READ, which wait for another one that changes the same tree. */

@Entity()
@Resource({ auth: permitAllAsUser1, nested: ['folders', 'places'] })
class Project {
  @PrimaryGeneratedColumn() id!: number
  @Column() name!: string
  @OneToMany(
    () => Folder,
    ({ project }) => project,
  )
  folders!: Relation<Folder>[]
  @OneToMany(
    () => Place,
    ({ project }) => project,
  )
  places!: Relation<Place>[]
}

@Entity()
@Tree('closure-table')
@Resource({ auth: permitAllAsUser1, bulk: true })
class Folder {
  @PrimaryGeneratedColumn() id!: number
  @Column({ unique: true }) name!: string
  @TreeParent() parent!: Folder | null
  @TreeChildren() children!: Folder[]
  @ManyToOne(
    () => Project,
    ({ folders }) => folders,
  )
  project!: Relation<Project> | null
}

@Entity()
@Tree('materialized-path')
@Resource({ auth: permitAllAsUser1, bulk: true })
class Place {
  @PrimaryGeneratedColumn() id!: number
  @Column({ unique: true }) name!: string
  @TreeParent() parent!: Place | null
  @TreeChildren() children!: Place[]
  @ManyToOne(
    () => Project,
    ({ places }) => places,
  )
  project!: Relation<Project> | null
}

const gate = new Gate()

/** Makes the first move wait at its end. */
@EventSubscriber()
class Hold implements EntitySubscriberInterface {
  async afterUpdate({ metadata }: UpdateEvent<object>): Promise<void> {
    if (metadata.treeType !== undefined) await gate.pass()
  }
}

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [Project, Folder, Place, IdempotencyKey],
    source: {
      subscribers: [Hold],
      extra: { options: `-c default_transaction_isolation=repeatable\\ read -c application_name=trees-${process.pid}` },
    } as object,
    mount: { batch: true },
  })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

const request = (line: string, body: object, headers?: Record<string, string>): Promise<Reply> =>
  send(world.url, line.replace(' ', ' /api/'), { body, headers })

/** Waits until a transaction of this file waits for a lock. */
async function untilBlocked(): Promise<void> {
  const waiting = `SELECT 1 FROM pg_stat_activity
    WHERE wait_event_type = 'Lock' AND application_name = current_setting('application_name')`
  while ((await world.sql(waiting)).length === 0) await setTimeout(10)
}

/** Creates a node. @returns its id */
async function create(tree: string, name: string, parent: number | null): Promise<number> {
  return ((await request(`POST ${tree}/`, { name, parent_id: parent })).json() as { id: number }).id
}

/** Sends a write while another request moves a node. */
async function writeDuringMove(tree: string, node: number, parent: number, write: () => Promise<Reply>): Promise<void> {
  const isHeld = gate.close()
  const move = request(`PATCH ${tree}/${node}/`, { parent_id: parent })
  await isHeld
  const written = write()
  await untilBlocked()
  gate.open()
  expect((await move).status).toBe(200)
  const { status, text } = await written
  expect([status < 300, text]).toEqual([true, text])
}

/** Names of the descendants of a node, as TypeORM finds them. */
async function descendants(tree: string, id: number): Promise<readonly string[]> {
  const nodes = await world.dataSource.getTreeRepository<Folder>(tree).findDescendants({ id } as Folder)
  return nodes.map(({ name }) => name.replace(/ .*/, '')).toSorted()
}

type Write = (tree: string, id: number, name: string, parent: number) => Promise<Reply>

let keys = 0
const newKey = (): Record<string, string> => ({ 'Idempotency-Key': `key-${keys++}` })
const operations = (method: string, path: string, body: object): object[] => [
  { method: 'POST', path: '/api/project/', body: { name: 'first' } },
  { method, path: `/api/${path}/`, body },
]

const moves: Readonly<Record<string, Write>> = {
  'with a key': (tree, id, _name, parent) => request(`PATCH ${tree}/${id}/`, { parent_id: parent }, newKey()),
  'in a batch': (tree, id, _name, parent) =>
    request('POST -/batch', operations('PATCH', `${tree}/${id}`, { parent_id: parent })),
  'in a batch with a key': (tree, id, _name, parent) =>
    request('POST -/batch', operations('PATCH', `${tree}/${id}`, { parent_id: parent }), newKey()),
  'by an upsert': (tree, _id, name, parent) => request(`POST ${tree}/?on_conflict=name`, { name, parent_id: parent }),
  'by upserts': (tree, _id, name, parent) => request(`POST ${tree}/?on_conflict=name`, [{ name, parent_id: parent }]),
}

describe.each(['folder', 'place'])('%s', (tree) => {
  test.each(Object.entries(moves))('a node is moved %s with a descendant that it got meanwhile', async (form, move) => {
    const [top, name] = [await create(tree, `top ${form}`, null), `node ${form}`]
    const [node, below] = [await create(tree, name, null), await create(tree, `below ${form}`, null)]
    await writeDuringMove(tree, below, node, () => move(tree, node, name, top))
    expect(await descendants(tree, top)).toEqual(['below', 'node', 'top'])
  })
  test('a node is created with another record, below a node that is moved meanwhile', async () => {
    const [top, below] = [await create(tree, 'top nested', null), await create(tree, 'below nested', null)]
    await writeDuringMove(tree, below, top, () =>
      request('POST project/', { name: 'new', [`${tree}s`]: [{ name: 'leaf nested', parent_id: below }] }),
    )
    expect(await descendants(tree, top)).toEqual(['below', 'leaf', 'top'])
  })
})
