import { randomInt } from 'node:crypto'
import fc from 'fast-check'
import {
  Column,
  DeleteDateColumn,
  Entity,
  JoinColumn,
  ManyToOne,
  OneToMany,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type RelationOptions,
  Tree,
  TreeChildren,
  TreeParent,
} from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf, send } from '../client'
import { caseCount, timeFor } from '../hostile/cases'
import { permitAllAsUser1 } from '../support/access'
import { openWorld, type World } from '../world/world'

/**
 * Random writes over HTTP, compared after each one with a model of parent keys: the lists of the service, and what TypeORM's repository
 * reads from closure tables, paths and nested sets.
 * `TEST_SEED=…` repeats a run.
 */

const seed = Number(process.env['TEST_SEED'] ?? randomInt(2 ** 31))
/** Number of sequences of writes for each tree, and of writes in each sequence. */
const runs = caseCount(1, 200)
const writes = 25

interface Options {
  /** `none`: parent keys without `@Tree`. */
  readonly type: 'closure-table' | 'materialized-path' | 'nested-set' | 'adjacency-list' | 'none'
  readonly onDelete?: 'CASCADE' | 'SET NULL'
  /** Whether the key is a text that clients choose, with quotes in it. */
  readonly textKey?: boolean
  readonly renamed?: boolean
  readonly softDelete?: boolean
}

const trees: Readonly<Record<string, Options>> = {
  closure: { type: 'closure-table' },
  closurecascade: { type: 'closure-table', onDelete: 'CASCADE' },
  closurerenamed: { type: 'closure-table', renamed: true },
  closuretext: { type: 'closure-table', textKey: true },
  closuresoft: { type: 'closure-table', softDelete: true },
  path: { type: 'materialized-path' },
  pathnull: { type: 'materialized-path', onDelete: 'SET NULL' },
  pathrenamed: { type: 'materialized-path', renamed: true },
  pathtext: { type: 'materialized-path', textKey: true },
  pathsoft: { type: 'materialized-path', softDelete: true },
  nested: { type: 'nested-set' },
  nestedcascade: { type: 'nested-set', onDelete: 'CASCADE' },
  nestednull: { type: 'nested-set', onDelete: 'SET NULL' },
  nestedtext: { type: 'nested-set', textKey: true },
  nestedsoft: { type: 'nested-set', softDelete: true },
  adjacency: { type: 'adjacency-list' },
  adjacencycascade: { type: 'adjacency-list', onDelete: 'CASCADE' },
  adjacencynull: { type: 'adjacency-list', onDelete: 'SET NULL' },
  adjacencytext: { type: 'adjacency-list', textKey: true },
  adjacencysoft: { type: 'adjacency-list', softDelete: true },
  plain: { type: 'none' },
}

type Id = number | string
interface Node {
  id: Id
}

/** Declares an entity with these options, as decorators would. */
function declare(name: string, { type, onDelete, textKey, renamed, softDelete }: Options): new () => Node {
  class Declared implements Node {
    id!: Id
  }
  Object.defineProperty(Declared, 'name', { value: `Tree${name}` })
  const { prototype } = Declared
  const column = renamed ? { name: 'node_key' } : {}
  if (textKey) PrimaryColumn({ ...column, type: 'varchar', length: 20 })(prototype, 'id')
  else PrimaryGeneratedColumn(column)(prototype, 'id')
  Column({ type: 'varchar', length: 20, nullable: true })(prototype, 'label')
  if (softDelete) DeleteDateColumn()(prototype, 'deleted')
  const options: RelationOptions = onDelete === undefined ? {} : { onDelete }
  if (type === 'none') {
    ManyToOne(() => Declared, 'children', options)(prototype, 'parent')
    OneToMany(() => Declared, 'parent')(prototype, 'children')
  } else {
    TreeParent(onDelete === undefined ? undefined : { onDelete })(prototype, 'parent')
    TreeChildren()(prototype, 'children')
    Tree(type)(Declared)
  }
  if (renamed) JoinColumn({ name: 'above' })(prototype, 'parent')
  Entity(`tree_${name}`)(Declared)
  Resource({ name, auth: permitAllAsUser1 })(Declared)
  return Declared
}

const entities = new Map(Object.entries(trees).map(([name, options]) => [name, declare(name, options)]))

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [...entities.values()] })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

const { post, put, get } = apiOf(() => world.url)

/** The expected nodes: their parents, and which of them are soft-deleted. */
class Model {
  readonly parents = new Map<Id, Id | null>()
  readonly deleted = new Set<Id>()
  /** Number of nodes that were requested, from which the next text key is made. */
  made = 0

  get shown(): readonly Id[] {
    return [...this.parents.keys()].filter((id) => !this.deleted.has(id))
  }

  children(id: Id): readonly Id[] {
    return [...this.parents].filter(([, parent]) => parent === id).map(([child]) => child)
  }

  /** The descendants of a node, including itself. */
  descendants(id: Id): readonly Id[] {
    return [id, ...this.children(id).flatMap((child) => this.descendants(child))]
  }

  ancestors(id: Id): readonly Id[] {
    const parent = this.parents.get(id) ?? null
    return [id, ...(parent === null ? [] : this.ancestors(parent))]
  }

  isRootless(): boolean {
    return ![...this.parents.values()].includes(null)
  }
}

const write = fc.record({
  kind: fc.constantFrom('create', 'create', 'create', 'move', 'move', 'move', 'root', 'rename', 'delete'),
  one: fc.nat(),
  other: fc.nat(),
})
type Write = typeof write extends fc.Arbitrary<infer T> ? T : never

/** Sends one write and checks its status; changes the model as the write should change the table. */
async function apply(name: string, model: Model, { kind, one, other }: Write): Promise<void> {
  const { type, onDelete, textKey, softDelete } = trees[name] as Options
  const ids = [...model.parents.keys()]
  const pick = (at: number): Id | undefined => ids[at % ids.length]
  const [node, second = null] = [pick(one), pick(other)]
  const isGone = (id: Id | null): boolean => id !== null && model.deleted.has(id)
  const pathTo = (id: Id): string => `${name}/${encodeURIComponent(id)}`
  if (node === undefined || (kind === 'create' && ids.length < 14)) {
    const parent = kind === 'root' ? null : second
    const body = { ...(textKey ? { id: `${model.made}o'"${name.length}` } : {}), parent_id: parent }
    model.made += 1
    const reply = await post(name, body)
    const isAllowed = !isGone(parent) && (parent !== null || type !== 'nested-set' || model.isRootless())
    expect([reply.status, reply.text]).toEqual([isAllowed ? 201 : 400, expect.anything()])
    if (isAllowed) model.parents.set((reply.json() as Node).id, parent)
  } else if (kind === 'delete') {
    const { status } = await send(world.url, `DELETE /api/${pathTo(node)}/`)
    const becomeRoots = type === 'adjacency-list' && onDelete === 'SET NULL'
    const isKept = !softDelete && onDelete !== 'CASCADE' && !becomeRoots && model.children(node).length > 0
    expect(status).toBe(isGone(node) ? 404 : isKept ? 409 : 204)
    if (status !== 204) return
    if (becomeRoots) for (const child of model.children(node)) model.parents.set(child, null)
    if (softDelete) model.deleted.add(node)
    else for (const id of onDelete === 'CASCADE' ? model.descendants(node) : [node]) model.parents.delete(id)
  } else if (kind === 'rename') {
    expect((await put(pathTo(node), { label: `${one}` })).status).toBe(isGone(node) ? 404 : 200)
  } else {
    const parent = kind === 'root' ? null : second
    const before = model.parents.get(node) ?? null
    // MariaDB does not delete a row that refers to itself.
    if (type === 'none' && parent === node) return
    // Whether a foreign key to a soft-deleted record can be sent back or set to null is not specific to trees.
    if (isGone(before) && (parent === before || parent === null)) return
    const { status, text } = await put(pathTo(node), { parent_id: parent })
    const isRefused =
      isGone(parent) ||
      (parent === null && before !== null && type === 'nested-set') ||
      (parent !== null && type !== 'none' && model.ancestors(parent).includes(node))
    expect([status, text]).toEqual([isGone(node) ? 404 : isRefused ? 400 : 200, expect.anything()])
    if (status === 200) model.parents.set(node, parent)
  }
}

const sorted = (ids: readonly unknown[]): readonly string[] => ids.map(String).toSorted()

async function compare(name: string, model: Model): Promise<void> {
  const { shown } = model
  const { objects } = (await get(`${name}?limit=100`)).json() as { objects: { id: Id; parent_id: Id | null }[] }
  const listed = objects.map(({ id, parent_id }) => `${id} below ${parent_id}`).toSorted()
  expect(listed).toEqual(shown.map((id) => `${id} below ${model.parents.get(id)}`).toSorted())
  const { type, renamed } = trees[name] as Options
  // TypeORM's `TreeRepository` cannot read these.
  if (type === 'adjacency-list' || type === 'none') return
  if (renamed && type === 'closure-table') return comparePairs(name, model)
  const repository = world.dataSource.getTreeRepository(entities.get(name) as new () => Node)
  const isShown = (id: Id): boolean => shown.includes(id)
  for (const id of shown) {
    const [descendants, ancestors] = [
      await repository.findDescendants({ id } as Node),
      await repository.findAncestors({ id } as Node),
    ]
    expect(sorted(descendants.map((one) => one.id))).toEqual(sorted(model.descendants(id).filter(isShown)))
    expect(sorted(ancestors.map((one) => one.id))).toEqual(sorted(model.ancestors(id).filter(isShown)))
  }
}

/** TypeORM cannot read a closure table if the key's column has another name than its property. */
async function comparePairs(name: string, model: Model): Promise<void> {
  const junction = world.dataSource.getMetadata(entities.get(name) as new () => Node).closureJunctionTable
  const rows = await world.sql(`SELECT * FROM "${junction.tableName}"`)
  const columns = [...junction.ancestorColumns, ...junction.descendantColumns].map((column) => column.databaseName)
  const stored = rows.map((row) => columns.map((column) => row[column]).join(' above '))
  const pairs = model.shown.flatMap((id) => model.ancestors(id).map((ancestor) => `${ancestor} above ${id}`))
  expect(stored.toSorted()).toEqual(pairs.toSorted())
}

/** Deletes all nodes, children first, as MariaDB requires. */
async function clear(name: string): Promise<void> {
  const repository = world.dataSource.getRepository(entities.get(name) as new () => Node)
  await repository
    .createQueryBuilder()
    .update()
    .set({ parent: null } as object)
    .execute()
  await repository.createQueryBuilder().delete().execute()
}

test.each(Object.keys(trees))(
  `a tree as %s is the same in the model, the service and TypeORM's repository (seed ${seed})`,
  async (name) => {
    const property = fc.asyncProperty(fc.array(write, { minLength: writes, maxLength: writes }), async (sequence) => {
      const model = new Model()
      await clear(name)
      for (const one of sequence) {
        await apply(name, model, one)
        await compare(name, model)
      }
    })
    await fc.assert(property, { seed, numRuns: runs, endOnFailure: runs < 100 })
  },
  timeFor(runs * writes),
)
