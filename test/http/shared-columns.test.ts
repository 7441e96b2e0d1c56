import Koa from 'koa'
import {
  BeforeUpdate,
  Column,
  type DataSource,
  Entity,
  JoinColumn,
  ManyToOne,
  OneToMany,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type Relation,
} from 'typeorm'
import { ConfigError, mountResources, Resource } from 'typeorm-resources'
import { apiOf, send } from '../client'
import { permitAll, permitAllAsUser1 } from '../support/access'
import { createDataSource, dropDatabase } from '../world/leg'
import { openWorld, type World } from '../world/world'

/** Relations that share a column of their foreign keys, in every order of declaration. */

@Entity()
@Resource({ auth: permitAll })
class Tenant {
  @PrimaryColumn('int') id!: number
}

@Entity()
@Resource({ auth: permitAll })
class Company {
  @PrimaryColumn('int') id!: number
}

@Entity()
@Resource({ auth: permitAll, scope: 'all' })
class Project {
  @PrimaryColumn('int') tenantId!: number
  @PrimaryColumn('int') number!: number
}

type Decorate = (target: object) => void
type Name = 'tenantId' | 'projectNo' | 'customerNo' | 'tenant' | 'company' | 'project' | 'customer'

const column =
  (name: string): Decorate =>
  (target) =>
    Column({ type: 'int', nullable: true })(target, name)

const relation =
  (name: string, entity: () => new () => object, columns: Readonly<Record<string, string>>): Decorate =>
  (target) => {
    ManyToOne(entity, { nullable: true, createForeignKeyConstraints: false })(target, name)
    const joined = Object.entries(columns).map(([from, to]) => ({ name: from, referencedColumnName: to }))
    JoinColumn(joined)(target, name)
  }

/** Decorators of the properties. All relations have the column `tenantId`. */
const properties: Readonly<Record<Name, Decorate>> = {
  tenantId: column('tenantId'),
  projectNo: column('projectNo'),
  customerNo: column('customerNo'),
  tenant: relation('tenant', () => Tenant, { tenantId: 'id' }),
  company: relation('company', () => Company, { tenantId: 'id' }),
  project: relation('project', () => Project, { tenantId: 'tenantId', projectNo: 'number' }),
  customer: relation('customer', () => Project, { tenantId: 'tenantId', customerNo: 'number' }),
}

let count = 0

/** An entity with these properties, declared in this order. */
function lineWith(names: string): new () => object {
  class Line {}
  PrimaryGeneratedColumn()(Line.prototype, 'id')
  for (const name of names.split(' ')) properties[name as Name](Line.prototype)
  count += 1
  Entity(`line${count}`)(Line)
  return Line
}

const isMe = (): boolean => false

const pairs = ['tenant project', 'project tenant']
/** All orders of declaration of relations that share `tenantId`. */
const shared = [
  ...pairs,
  'project projectNo tenant',
  ...pairs.flatMap((pair) => [`tenantId ${pair}`, `tenantId projectNo ${pair}`, `${pair} tenantId projectNo`]),
  'tenant company',
  'company tenant',
  'tenantId tenant company',
  'tenantId company tenant',
  'project customer',
  'customer project',
  'tenantId projectNo customerNo project customer',
  'tenantId projectNo customerNo customer project',
]

/** Options of the first and of the second relation that leave one of them a field. */
const options: readonly (readonly [string, (relation: string) => object])[] = [
  ['no option', () => ({})],
  ['readOnly', (name) => ({ readOnly: [name] })],
  ['fields.read', (name) => ({ fields: { [name]: { read: isMe } } })],
  ['fields.write', (name) => ({ fields: { [name]: { write: isMe } } })],
  ['ownerField', (name) => ({ ownerField: { field: name, is: () => 1 } })],
  ['preset', (name) => ({ preset: () => ({ [name]: 1 }) })],
]

const relationsOf = (names: string): readonly string[] => names.split(' ').filter((name) => !/(No|Id)$/.test(name))

/** Those of which one relation is excluded that has no column of its own, so that the other one would show its values. */
const withoutOther = shared.flatMap((names) =>
  relationsOf(names)
    .filter((name) => name === 'tenant' || name === 'company')
    .map((name) => [names, name] as const),
)

const cases: readonly (readonly [string, string, object])[] = [
  ...shared.flatMap((names) =>
    options.flatMap(([title, option]) =>
      relationsOf(names).map((name): [string, string, object] => [names, `${title} ${name}`, option(name)]),
    ),
  ),
  ...withoutOther.map(([names, name]): [string, string, object] => [names, `exclude ${name}`, { exclude: [name] }]),
]

const lines = new Map(shared.map((names) => [names, lineWith(names)]))

describe('at mount', () => {
  let dataSource: DataSource
  beforeAll(async () => {
    dataSource = await createDataSource({ entities: [Tenant, Company, Project, ...lines.values()] })
    await dataSource.initialize()
  })
  afterAll(async () => {
    await dataSource.destroy()
    await dropDatabase(dataSource)
  })

  /** The errors of a mount of the entity with these properties. */
  function mistakesOf(names: string, resource: object): readonly string[] {
    try {
      const entity = lines.get(names) ?? names
      mountResources(new Koa(), dataSource, { resources: [{ entity, name: 'line', auth: permitAll, ...resource }] })
      return []
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      return error.mistakes
    }
  }

  test.each(cases)('relations that share a column are refused: %s, %s', (names, _, resource) => {
    const [, one, other] = [names, ...relationsOf(names)]
    const found = mistakesOf(names, resource).filter((mistake) => mistake.includes('shares the column'))
    expect(found).toHaveLength(1)
    const both = [`"${one}" shares the column "tenantId" with "${other}",`]
    both.push(`"${other}" shares the column "tenantId" with "${one}",`)
    expect(both.some((text) => found[0]?.includes(text))).toBe(true)
  })

  test('the error says what is allowed', () => {
    expect(mistakesOf('tenant project', {})).toEqual([
      'Line: "project" shares the column "tenantId" with "tenant", but only one of the two relations can be a field: declare ' +
        'that one first, and put the other in "exclude", or remove the other from the entity if it has no other column',
    ])
  })

  test('a relation that is declared later than an excluded one cannot be a field', () => {
    const mistakes = mistakesOf('project tenant', { exclude: ['project'] })
    expect(mistakes).toEqual([expect.stringContaining('"tenant" shares the column "tenantId" with "project",')])
  })

  test.each(shared)('all relations that share a column can be excluded: %s', (names) => {
    expect(mistakesOf(names, { exclude: names.split(' ') })).toEqual([])
  })

  test.each(shared)('an owner is one of the relations that are fields: %s', (names) => {
    const relations = relationsOf(names)
    const exclude = [...relations]
    const mistakes = mistakesOf(names, { exclude, ownerField: { field: 'nobody', is: () => 1 } })
    for (const mistake of mistakes) expect(mistake).not.toMatch(/allowed: .*(project|customer)/)
  })
})

describe('a relation that is excluded because it shares a column', () => {
  const exclude = ['project'] as const
  @Entity()
  @Resource({ auth: permitAll, exclude, bulk: true })
  class First {
    @PrimaryGeneratedColumn() id!: number
    @ManyToOne(() => Tenant, { nullable: true }) @JoinColumn({ name: 'tenantId' }) tenant!: object
    @ManyToOne(() => Project, { nullable: true, createForeignKeyConstraints: false })
    @JoinColumn([
      { name: 'tenantId', referencedColumnName: 'tenantId' },
      { name: 'projectNo', referencedColumnName: 'number' },
    ])
    project!: object
  }

  /** Shows neither relation, nor the column that it declares. */
  @Entity()
  @Resource({ auth: permitAll, exclude: ['project', 'tenant', 'projectNo'], readOnly: ['tenant'], bulk: true })
  class Neither {
    @PrimaryGeneratedColumn() id!: number
    @Column({ type: 'int', nullable: true }) tenantId!: number
    @Column({ type: 'int', nullable: true }) projectNo!: number
    @Column('int', { default: 0 }) amount!: number
    @ManyToOne(() => Project, { nullable: true, createForeignKeyConstraints: false })
    @JoinColumn([
      { name: 'tenantId', referencedColumnName: 'tenantId' },
      { name: 'projectNo', referencedColumnName: 'number' },
    ])
    project!: object
    @ManyToOne(() => Tenant, { nullable: true }) @JoinColumn({ name: 'tenantId' }) tenant!: object
  }

  let world: World
  beforeAll(async () => {
    world = await openWorld({ entities: [Tenant, Project, First, Neither], columnOrder: 0 })
    await world.dataSource.getRepository(Tenant).insert([{ id: 1 }, { id: 2 }])
    await world.sql('INSERT INTO "neither" ("tenantId", "projectNo") VALUES (1, 1)')
  })
  afterAll(async () => {
    await world.close()
    expect(world.faults).toEqual([])
  })
  const { get, post, put } = apiOf(() => world.url)

  test('does not restrict the other one', async () => {
    expect((await post('first', { tenant_id: 1 })).json()).toEqual({ id: 1, tenant_id: 1 })
    expect((await put('first/1', { tenant_id: 2 })).json()).toEqual({ id: 1, tenant_id: 2 })
    expect((await get('first/?tenant=2')).json()).toMatchObject({ objects: [{ id: 1 }] })
    expect((await put('first/1', { project_id: '1,1' })).status).toBe(400)
  })

  test('has the declared column that it shares hidden and read-only', async () => {
    expect((await get('neither/1/')).json()).toEqual({ id: 1, amount: 0 })
    for (const body of [{ tenantId: 2 }, { tenant_id: 2 }, { project_id: '2,2' }, { tenant: 2 }]) {
      expect((await put('neither/1', body)).status).toBe(400)
      expect((await post('neither', body)).status).toBe(400)
    }
    expect((await get('neither/?tenantId=1')).status).toBe(400)
    expect(await world.sql('SELECT "tenantId" FROM "neither"')).toEqual([{ tenantId: 1 }])
  })
})

describe('a foreign key of which the entity declares one column', () => {
  const toTeam = [
    { name: 'tenantId', referencedColumnName: 'tenantId' },
    { name: 'teamNo', referencedColumnName: 'number' },
  ]

  @Entity()
  @Resource({ auth: permitAll, nested: ['members'] })
  class Team {
    @PrimaryColumn('int') tenantId!: number
    @PrimaryColumn('int') number!: number
    @OneToMany(
      () => Member,
      (member) => member.team,
    )
    members!: Relation<Member>[]
  }

  abstract class InTeam {
    @PrimaryGeneratedColumn() id!: number
    @Column({ type: 'int', nullable: true }) tenantId!: number | null
    @ManyToOne(() => Team, { nullable: true }) @JoinColumn(toTeam) team!: Relation<Team> | null
  }

  @Entity()
  @Resource({ auth: permitAll })
  class Member {
    @PrimaryGeneratedColumn() id!: number
    @Column('int') tenantId!: number
    @ManyToOne(
      () => Team,
      (team) => team.members,
      { nullable: false },
    )
    @JoinColumn(toTeam)
    team!: Relation<Team>
  }

  const exclude = ['team'] as const
  const fields = { tenantId: { read: true } } as const
  const filter = () => ({ team: '1,7' })

  @Entity()
  @Resource({ auth: permitAll, preset: filter, bulk: true })
  class Preset extends InTeam {}

  @Entity()
  @Resource({ auth: permitAll, exclude, fields, preset: filter, bulk: true })
  class HiddenPreset extends InTeam {}

  /** Requires the column that it declares. */
  @Entity()
  @Resource({ auth: permitAll, preset: filter, bulk: true })
  class RequiredPreset {
    @PrimaryGeneratedColumn() id!: number
    @Column('int') tenantId!: number
    @ManyToOne(() => Team, { nullable: false }) @JoinColumn(toTeam) team!: Relation<Team>
  }

  @Entity()
  @Resource({ auth: permitAllAsUser1, exclude, fields, scope: filter, bulk: true })
  class Scoped extends InTeam {}

  @Entity()
  @Resource({ auth: permitAllAsUser1, exclude, fields, may: { create: filter, update: filter }, bulk: true })
  class Permitted extends InTeam {}

  /** Declares both columns. */
  @Entity()
  @Resource({ auth: permitAllAsUser1, scope: filter, bulk: true })
  class BothScoped extends InTeam {
    @Column({ type: 'int', nullable: true }) teamNo!: number | null
  }

  /** A listener changes the foreign key. */
  @Entity()
  @Resource({ auth: permitAll })
  class Moving extends InTeam {
    @Column('int', { default: 0 }) amount!: number
    @BeforeUpdate() move(): void {
      this.team = { tenantId: 2, number: 7 } as Team
    }
  }

  const entities = {
    preset: Preset,
    hiddenpreset: HiddenPreset,
    requiredpreset: RequiredPreset,
    scoped: Scoped,
    permitted: Permitted,
    bothscoped: BothScoped,
  }

  let world: World
  beforeAll(async () => {
    world = await openWorld({ entities: [Team, Member, Moving, ...Object.values(entities)] })
    await world.dataSource.getRepository(Team).insert([
      { tenantId: 1, number: 7 },
      { tenantId: 2, number: 7 },
    ])
  })
  afterAll(async () => {
    await world.close()
    expect(world.faults).toEqual([])
  })
  const { post, put } = apiOf(() => world.url)

  describe.each(Object.keys(entities))('%s', (name) => {
    const stored = async (): Promise<unknown[]> => {
      const { tableName } = world.dataSource.getMetadata(entities[name as keyof typeof entities])
      const rows = await world.sql(`SELECT "tenantId", "teamNo" FROM "${tableName}" ORDER BY "id"`)
      return rows.map(({ tenantId, teamNo }) => `${tenantId},${teamNo}`)
    }

    test('a new record gets both columns', async () => {
      expect((await post(name, {})).status).toBe(201)
      expect((await post(name, { tenantId: 1 })).status).toBe(201)
      expect((await post(name, [{}, { tenantId: 1 }])).status).toBe(201)
      expect(await stored()).toEqual(['1,7', '1,7', '1,7', '1,7'])
    })

    test('a body cannot set another value', async () => {
      const { status } = await post(name, { tenantId: 2 })
      expect(status).toBe(name.endsWith('preset') ? 201 : 403)
      const array = await post(name, [{ tenantId: 1 }, { tenantId: 2 }])
      expect(array.status).toBe(name.endsWith('preset') ? 201 : 403)
      expect(new Set(await stored())).toEqual(new Set(['1,7']))
      expect((await put(`${name}/1`, { tenantId: 1 })).status).toBe(200)
    })
  })

  test('an update stores both columns', async () => {
    expect((await post('moving', {})).status).toBe(201)
    expect((await put('moving/1', { amount: 1 })).json()).toMatchObject({ amount: 1, team_id: '2,7' })
    expect(await world.sql('SELECT "tenantId", "teamNo" FROM "moving"')).toEqual([{ tenantId: 2, teamNo: 7 }])
  })

  test('related records get the key of their parent', async () => {
    expect((await post('team', { tenantId: 3, number: 4, members: [{}, {}] })).status).toBe(201)
    expect(await world.sql('SELECT "tenantId", "teamNo" FROM "member"')).toEqual([
      { tenantId: 3, teamNo: 4 },
      { tenantId: 3, teamNo: 4 },
    ])
  })
})

describe('a relation that shares a column with an earlier one', () => {
  const filter = () => ({ project: '1,7' })

  /** An entity whose `project` is excluded, with a policy that names it. */
  function itemWith(name: string, policy: object): new () => object {
    class Item {}
    PrimaryGeneratedColumn()(Item.prototype, 'id')
    properties.tenant(Item.prototype)
    properties.project(Item.prototype)
    Entity(name)(Item)
    Resource({ name, auth: permitAllAsUser1, exclude: ['project'], ...policy } as object)(Item)
    return Item
  }

  const policies = { scope: { scope: filter }, preset: { preset: filter }, through: { scope: { through: 'project' } } }
  let world: World
  beforeAll(async () => {
    const items = Object.entries(policies).map(([name, policy]) => itemWith(`by_${name}`, policy))
    world = await openWorld({ entities: [Tenant, Project, ...items], columnOrder: 0 })
    await world.dataSource.getRepository(Project).insert([{ tenantId: 1, number: 7 }])
    await world.sql('INSERT INTO "by_through" ("tenantId", "projectNo") VALUES (1, 7), (1, 8), (1, NULL)')
  })
  afterAll(() => world.close())

  test.each([
    [
      'scope',
      'GET /api/by_scope/',
      'the scope of by_scope: project is not a field of by_scope; fields: id, tenant_id; relations: tenant',
    ],
    ['preset', 'POST /api/by_preset/', 'preset of by_preset sets project, which is not a field; fields: id, tenant_id'],
  ])('cannot be named in %s, and the error says so', async (_, line, message) => {
    const earlier = world.faults.length
    const { status } = await send(world.url, line, line.startsWith('POST') ? { body: {} } : {})
    expect([status, world.faults.slice(earlier).map(String)]).toEqual([500, [`TypeError: ${message}`]])
  })

  test('can be followed by a row scope', async () => {
    const reply = await send(world.url, 'GET /api/by_through/')
    expect(reply.json()).toMatchObject({ objects: [{ id: 1, tenant_id: 1 }] })
  })
})
