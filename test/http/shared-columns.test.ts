import Koa from 'koa'
import { Column, type DataSource, Entity, JoinColumn, ManyToOne, PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm'
import { ConfigError, mountResources, Resource } from 'typeorm-resources'
import { apiOf } from '../client'
import { permitAll } from '../support/access'
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
@Resource({ auth: permitAll })
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
