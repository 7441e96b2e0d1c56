import {
  Column,
  Entity,
  JoinColumn,
  JoinTable,
  ManyToMany,
  ManyToOne,
  OneToMany,
  OneToOne,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type Relation,
} from 'typeorm'
import {
  anonymous,
  type FilterObject,
  mountResources,
  type Principal,
  Resource,
  type Rule,
  userRule,
} from 'typeorm-resources'
import { basic, send } from '../client'
import { unhashed } from '../support/unhashed'
import { types } from '../world/leg'
import { openWorld, type World } from '../world/world'

/** Properties of principals: those of the user that `@UserAccount({ principal })` names, and those of custom access rules. */

const upperCase = {
  to: (text: string): string => text.toUpperCase(),
  from: (text: string): string => text.toLowerCase(),
}

class Address {
  @Column() city!: string
}

@Entity()
class Company {
  @PrimaryGeneratedColumn() id!: number
}

/** Its key is not a number. */
@Entity()
class Team {
  @PrimaryColumn({ length: 10 }) code!: string
  @OneToMany(
    () => Member,
    ({ team }) => team,
  )
  members!: Relation<Member>[]
}

@Entity()
class Place {
  @PrimaryColumn() x!: number
  @PrimaryColumn() y!: number
}

@Entity()
class Member {
  @PrimaryGeneratedColumn() id!: number
  @Column() username!: string
  @Column() password!: string
  @Column() isAdmin!: boolean
  @ManyToOne(() => Company) company!: Relation<Company> | null
  @Column({ name: 'the_role', transformer: upperCase }) role!: string
  @Column(types.instant) since!: Date
  @Column() vip!: boolean
  @ManyToOne(
    () => Team,
    ({ members }) => members,
  )
  team!: Relation<Team> | null
  @Column({ type: 'int', nullable: true }) deputyId!: number | null
  @OneToOne(() => Member)
  @JoinColumn({ name: 'deputyId' })
  deputy!: Relation<Member> | null
  @Column('simple-json') settings!: { theme: string }
  @Column({ select: false }) secret!: string
  @Column({ type: 'bigint' }) credit!: string
  @Column({ type: 'date' }) birthday!: string
  @OneToOne(
    () => Member,
    ({ deputy }) => deputy,
  )
  substituteOf!: Relation<Member> | null
  @ManyToOne(() => Place) place!: Relation<Place> | null
  @ManyToMany(() => Company) @JoinTable() customers!: Relation<Company>[]
  @Column(() => Address) address!: Address
}

interface MemberPrincipal extends Principal {
  readonly company: number | null
}

let seen: Principal[] = []
const scope = (me: Principal): FilterObject => {
  seen.push(me)
  return { company: (me as MemberPrincipal).company }
}

@Entity()
@Resource({ auth: userRule(), scope })
class Project {
  @PrimaryGeneratedColumn() id!: number
  @Column() name!: string
  @ManyToOne(() => Company) company!: Relation<Company> | null
}

const member = {
  isAdmin: false,
  role: 'clerk',
  since: new Date('2020-02-03T04:05:06.789Z'),
  vip: true,
  settings: { theme: 'dark' },
  secret: 'hush',
  credit: '12',
  birthday: '1990-12-31',
  address: { city: 'Bern' },
} as const

const principal = ['company', 'role', 'since', 'vip', 'team', 'deputyId', 'settings', 'secret', 'credit', 'birthday']
const users = { entity: Member, ...unhashed, admin: 'isAdmin' }

const entities = [Company, Team, Place, Member, Project]

const openSite = (): Promise<World> =>
  openWorld({
    entities,
    seed: async ({ manager }) => {
      await manager.insert(Company, [{ id: 1 }, { id: 2 }])
      await manager.insert(Team, { code: 'red' })
      await manager.insert(Member, [
        { id: 1, username: 'ann', password: 'ann', ...member, company: { id: 1 }, team: { code: 'red' } },
        { id: 2, username: 'bob', password: 'bob', ...member, isAdmin: true, vip: false, deputyId: 1 },
      ])
      await manager.insert(Project, [
        { name: 'Atlas', company: { id: 1 } },
        { name: 'Saturn', company: { id: 2 } },
      ])
    },
    mount: { users: { ...users, principal } },
  })

describe('@UserAccount({ principal })', () => {
  let world: World
  beforeAll(async () => {
    world = await openSite()
  })
  beforeEach(() => {
    seen = []
  })
  afterAll(() => world.close())

  const projectsOf = async (as: string): Promise<readonly string[]> => {
    const reply = await send(world.url, 'GET /api/project/', { as })
    expect(reply.status).toBe(200)
    return (reply.json() as { objects: { name: string }[] }).objects.map(({ name }) => name)
  }

  test('Principals: a principal has the named properties, with the values that TypeORM sets in the entity', async () => {
    expect([await projectsOf('ann'), await projectsOf('bob')]).toEqual([['Atlas'], []])
    const { role, since, vip, settings, credit, birthday } = await world.dataSource.manager.findOneByOrFail(Member, {
      id: 1,
    })
    const own = { role, since, vip, settings, credit, birthday, secret: 'hush' }
    expect(own).toMatchObject({ role: member.role, since: member.since, vip: true, settings: member.settings })
    expect(seen).toEqual([
      { id: 1, admin: false, ...own, company: 1, team: 'red', deputyId: null },
      { id: 2, admin: true, ...own, vip: false, company: null, team: null, deputyId: 1 },
    ])
  })

  test('Principals: the properties are read anew for each request, with the account in one statement', async () => {
    await projectsOf('ann')
    world.statements()
    await world.sql(`UPDATE "member" SET "companyId" = 2 WHERE "id" = 1`)
    world.statements()
    expect(await projectsOf('ann')).toEqual(['Saturn'])
    const statements = world.statements()
    await world.sql(`UPDATE "member" SET "companyId" = 1 WHERE "id" = 1`)
    // One reads the account, the other the list.
    expect(statements.filter((sql) => sql.includes('password'))).toHaveLength(1)
    expect(statements.filter((sql) => sql.includes('SELECT'))).toHaveLength(2)
    expect(await projectsOf('ann')).toEqual(['Atlas'])
    const [first, second] = seen as unknown as [typeof member, typeof member]
    expect(first.settings).not.toBe(second.settings)
    expect(Object.isFrozen(first)).toBe(true)
  })

  test('Presets: a new record gets a property of the principal', async () => {
    const posted = await send(world.url, 'POST /api/project/', { as: 'ann', body: { name: 'New' } })
    expect([posted.status, posted.json()]).toMatchObject([201, { company_id: 1 }])
  })
})

test('Principals: a value that cannot be read is an error only for the user who has logged in', async () => {
  const broken = {
    to: (text: string): string => text,
    from: (): never => {
      throw new Error('unreadable')
    },
  }
  @Entity()
  class Reader {
    @PrimaryGeneratedColumn() id!: number
    @Column() username!: string
    @Column() password!: string
    @Column({ transformer: broken }) role!: string
  }
  const world = await openWorld({
    entities: [Company, Reader],
    seed: async ({ manager }) => void (await manager.insert(Reader, { username: 'ann', password: 'ann', role: 'x' })),
    mount: {
      users: { entity: Reader, ...unhashed, principal: ['role'] },
      resources: [{ entity: Company, auth: userRule() }],
    },
  })
  const wrong = await send(world.url, 'GET /api/company/', { headers: { Authorization: basic('ann', 'wrong') } })
  expect([wrong.status, world.faults]).toEqual([401, []])
  expect((await send(world.url, 'GET /api/company/', { as: 'ann' })).status).toBe(500)
  await world.close()
})

const allowed = /allowed: [^\n]*\bcompany\b/
const mistakes: readonly (readonly [named: unknown, message: string | RegExp])[] = [
  ['company', 'Member: "principal" must be an array of property names, such as ["company"]'],
  [['compny'], 'Member: "principal" names "compny", which is neither a column nor a relation to one record; allowed: '],
  [['compny'], allowed],
  [[1], '"principal" names "1", which is neither'],
  [['customers'], '"principal" names "customers", which is neither'],
  [['substituteOf'], '"principal" names "substituteOf", which is neither'],
  [['the_role'], '"principal" names "the_role", which is neither'],
  [['address'], '"principal" names "address", which is neither'],
  [['toString'], '"principal" names "toString", which is neither'],
  [['id'], '"principal" names "id", which all principals have already'],
  [['admin'], '"principal" names "admin", which all principals have already'],
  [['password'], '"principal" names "password", which is neither'],
  [['place'], '"principal" names "place", whose key has several columns'],
  [['id', 'compny'], /"id", which all.*\n.*"compny", which is neither/],
]

test.each(mistakes)('Checks at mount: principal %j is a mistake', async (named, message) => {
  const world = await openWorld({ entities, mountOn: () => ({ resources: [] }) })
  const options = { users: { ...users, principal: named as string[] } }
  const mount = (): unknown => mountResources(world.app, world.dataSource, options)
  expect(mount).toThrow(message)
  expect(mount).not.toThrow(/allowed: [^\n]*\b(password|id|customers)\b/)
  await world.close()
})

test('Principals: the properties of principals of a custom rule reach scope functions unchanged', async () => {
  class Token {
    constructor(
      readonly id: number,
      readonly company: number,
      readonly roles: readonly string[],
    ) {}
  }
  const token = new Token(7, 2, ['clerk'])
  const auth: Rule = ({ context }) => (context.get('x-token') === '' ? anonymous : token)
  const world = await openWorld({
    entities: [Company],
    mount: { resources: [{ entity: Company, auth, scope: (me) => seen.push(me) > 0 }] },
  })
  seen = []
  await send(world.url, 'GET /api/company/', { headers: { 'x-token': 'x' } })
  await send(world.url, 'GET /api/company/')
  expect(seen).toHaveLength(2)
  expect(seen[0]).toBe(token)
  expect(seen[1]).toBe(anonymous)
  await world.close()
})
