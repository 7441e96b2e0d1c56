import {
  AfterLoad,
  BeforeUpdate,
  Column,
  type ColumnOptions,
  Entity,
  PrimaryGeneratedColumn,
  type Relation,
  Tree,
  TreeChildren,
  TreeParent,
  UpdateDateColumn,
  VersionColumn,
} from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf } from '../client'
import { permitAllAsUser1 } from '../support/access'
import { isMariadb, types } from '../world/leg'
import { openWorld, type World } from '../world/world'

/** A date that the database itself updates, on MariaDB and MySQL. */
const touched: ColumnOptions = isMariadb
  ? { type: 'datetime', default: () => 'CURRENT_TIMESTAMP', onUpdate: 'CURRENT_TIMESTAMP' }
  : { ...types.instant, nullable: true }

class Versioned {
  @PrimaryGeneratedColumn() id!: number
  @Column({ default: 'x' }) title!: string
  @Column({ type: 'varchar', length: 20, nullable: true }) secret!: string | null
  @Column({ type: 'int', nullable: true }) pin!: number | null
  @VersionColumn() version!: number
  @UpdateDateColumn() updated!: Date
  @Column(touched) touched!: Date
}

const hidden = { exclude: ['secret', 'pin'], auth: permitAllAsUser1 } as const

@Entity()
@Resource(hidden)
class Plain extends Versioned {}

/** Has no version and update date except that of the database. */
@Entity()
@Resource(hidden)
class Stamped {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'varchar', length: 20, nullable: true }) secret!: string | null
  @Column({ type: 'int', nullable: true }) pin!: number | null
  @Column(touched) touched!: Date
}

/** Has a listener that could change values, so that the new values are compared with the stored ones. */
@Entity()
@Resource(hidden)
class Observed extends Versioned {
  @BeforeUpdate() nothing(): void {}
}

/** Shows other values than are stored. */
@Entity()
@Resource({ auth: permitAllAsUser1 })
class Masked extends Versioned {
  @AfterLoad() mask(): void {
    this.secret = '***'
    this.pin = 0
  }
  @BeforeUpdate() nothing(): void {}
}

@Entity()
@Tree('closure-table')
@Resource(hidden)
class Closure extends Versioned {
  @TreeParent() parent!: Relation<Closure> | null
  @TreeChildren() children!: Relation<Closure>[]
}

@Entity()
@Tree('materialized-path')
@Resource(hidden)
class Path extends Versioned {
  @TreeParent() parent!: Relation<Path> | null
  @TreeChildren() children!: Relation<Path>[]
  @BeforeUpdate() nothing(): void {}
}

@Entity()
@Tree('nested-set')
@Resource(hidden)
class Nested extends Versioned {
  @TreeParent() parent!: Relation<Nested> | null
  @TreeChildren() children!: Relation<Nested>[]
}

/** Hides its parent. */
@Entity()
@Tree('materialized-path')
@Resource({ exclude: ['secret', 'pin', 'parent'], auth: permitAllAsUser1 })
class Orphan extends Versioned {
  @TreeParent() parent!: Relation<Orphan> | null
  @TreeChildren() children!: Relation<Orphan>[]
}

const names = ['plain', 'observed', 'masked', 'closure', 'path', 'nested', 'orphan']

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Plain, Stamped, Observed, Masked, Closure, Path, Nested, Orphan] })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

const { get, post, put } = apiOf(() => world.url)

interface Shown {
  readonly id: number
  readonly version: number
  readonly updated: string
  readonly touched: string | null
}

const longAgo = "'2001-02-03 04:05:06'"

/** Creates a record that was last changed long ago. */
async function makeOld(name: string, body: object): Promise<number> {
  const { id } = (await post(name, body)).json() as Shown
  await world.sql(`UPDATE "${name}" SET "updated" = ${longAgo}, "touched" = ${longAgo} WHERE "id" = ${id}`)
  return id
}

/** What a PUT changes in the shown fields, and its number of statements. */
async function effectOf(name: string, id: number, body: object): Promise<unknown> {
  const before = (await get(`${name}/${id}/`)).json() as Shown
  world.statements()
  const reply = await put(`${name}/${id}`, body)
  const statements = world.statements().length
  const after = reply.json() as Shown
  expect((await get(`${name}/${id}/`)).json()).toEqual(after)
  return {
    status: reply.status,
    versions: after.version - before.version,
    isUpdated: after.updated !== before.updated,
    isTouched: after.touched !== before.touched,
    others: Object.keys(after).filter(
      (key) =>
        !['version', 'updated', 'touched'].includes(key) && after[key as keyof Shown] !== before[key as keyof Shown],
    ),
    statements,
  }
}

test.each(
  names.flatMap(
    (name) =>
      [
        [name, { secret: 'stored' }, { secret: 'other' }],
        [name, { pin: 5 }, { pin: 6 }],
        [name, { secret: null }, { secret: 'x', pin: 7 }],
        [name, { title: 'y', secret: 'stored' }, { title: 'y', secret: 'other' }],
      ] as const,
  ),
)('a PUT of %s does not reveal whether %j or %j is stored', async (name, one, other) => {
  const root = name === 'nested' ? { parent_id: await rootOf(name) } : {}
  const stored = { ...root, secret: 'stored', pin: 5 }
  const nothing = { ...root, secret: null, pin: null }
  const same = await effectOf(name, await makeOld(name, 'secret' in one && one.secret === null ? nothing : stored), one)
  const different = await effectOf(name, await makeOld(name, stored), other)
  expect(same).toEqual(different)
  expect(same).toMatchObject({ status: 200, versions: 1, isUpdated: true, isTouched: isMariadb })
})

test('a PUT does not reveal through ON UPDATE whether a hidden value is stored', async () => {
  const effects = []
  for (const secret of ['stored', 'other']) {
    const { id } = (await post('stamped', { secret: 'stored' })).json() as Shown
    await world.sql(`UPDATE "stamped" SET "touched" = ${longAgo} WHERE "id" = ${id}`)
    effects.push(await effectOf('stamped', id, { secret }))
  }
  const [same, different] = effects
  expect(same).toEqual(different)
  expect(same).toMatchObject({ status: 200, isTouched: isMariadb })
})

let nestedRoot: number | undefined
async function rootOf(name: string): Promise<number> {
  nestedRoot ??= ((await post(name, {})).json() as Shown).id
  return nestedRoot
}

test('a PUT that names the hidden parent of a record does not reveal other hidden values', async () => {
  const parent_id = await makeOld('orphan', {})
  const make = (): Promise<number> => makeOld('orphan', { parent_id, secret: 'stored' })
  const same = await effectOf('orphan', await make(), { parent_id, secret: 'stored' })
  const different = await effectOf('orphan', await make(), { parent_id, secret: 'other' })
  expect(same).toEqual(different)
  expect(same).toMatchObject({ status: 200, versions: 1, isUpdated: true })
  const stored = await world.sql('SELECT DISTINCT "parentId" FROM "orphan" WHERE "secret" IS NOT NULL')
  expect(stored).toContainEqual({ parentId: parent_id })
})

test.each(names)(
  'a PUT of %s that changes no shown field and names no hidden one does not change version and dates',
  async (name) => {
    const id = await makeOld(name, name === 'nested' ? { parent_id: await rootOf(name) } : {})
    const record = (await get(`${name}/${id}/`)).json() as Shown
    expect(await effectOf(name, id, record)).toMatchObject({ status: 200, versions: 0, isUpdated: false })
  },
)
