import { setTimeout } from 'node:timers/promises'
import { inspect } from 'node:util'
import Koa from 'koa'
import {
  ChildEntity,
  Column,
  type DataSource,
  type DataSourceOptions,
  DeleteDateColumn,
  Entity,
  Index,
  JoinColumn,
  ManyToOne,
  OneToOne,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type Relation,
  TableInheritance,
} from 'typeorm'
import {
  ApiKeys,
  adminRule,
  apiKeys,
  basic,
  createApiKey,
  custom,
  type MountOptions,
  mountResources,
  Resource,
  readOnlyRule,
  UserAccount,
  userRule,
} from 'typeorm-resources'
import { send } from '../client'
import { unhashed } from '../support/unhashed'
import { dropDatabase, isPostgres, isSqlite, types } from '../world/leg'
import { openDataSource, openWorld, type World } from '../world/world'

/** Entities with API keys of every form, and the mistakes that a mount reports. */

/** The users are one kind of person, so a row of another kind is no user. */
@Entity()
@TableInheritance({ column: { type: 'varchar', name: 'kind' } })
class Person {
  @PrimaryGeneratedColumn('uuid') uid!: string
  @Column({ unique: true }) code!: string
  @DeleteDateColumn() left!: Date | null
}

@ChildEntity()
@UserAccount({ ...unhashed, username: 'code', password: 'pass', active: 'enabled' })
class Employee extends Person {
  @Column({ nullable: true }) pass!: string
  @Column({ nullable: true }) enabled!: boolean
}

@ChildEntity()
class Visitor extends Person {}

/** A key of an employee. */
@Entity()
@ApiKeys()
class Badge {
  @PrimaryGeneratedColumn() id!: number
  @Column({ unique: true, length: 15 }) prefix!: string
  @Column() hash!: string
  @ManyToOne(() => Employee) user!: Relation<Employee>
}

/** A key of any person: a mistake. */
@Entity()
@ApiKeys()
class PersonKey {
  @PrimaryGeneratedColumn() id!: number
  @Column({ unique: true, length: 15 }) prefix!: string
  @Column() hash!: string
  @ManyToOne(() => Person) user!: Relation<Person>
}

@Entity()
@UserAccount(unhashed)
class User {
  @PrimaryGeneratedColumn() id!: number
  @Column() username!: string
  @Column() password!: string
  @DeleteDateColumn() deleted!: Date | null
}

/** The smallest one. */
@Entity()
@ApiKeys()
class MachineKey {
  @PrimaryColumn({ length: 15 }) prefix!: string
  @Column() hash!: string
  @OneToOne(() => User)
  @JoinColumn()
  user!: Relation<User>
}

/** Not an entity of the authenticator, but its hash is hidden too. */
@Entity()
@ApiKeys({ permissions: 'rights', expires: 'until' })
@Resource({ ownerField: 'user', scope: () => true, rename: { hash: 'digest' } })
class OtherKey {
  @PrimaryGeneratedColumn() id!: number
  @Column({ unique: true, length: 30 }) prefix!: string
  @Column() hash!: string
  @ManyToOne(() => User) user!: Relation<User>
  @Column({ type: isPostgres ? 'jsonb' : isSqlite ? 'simple-json' : 'json', nullable: true })
  rights!: object | null
  @Column({ name: 'end', ...types.instant, nullable: true }) until!: Date | null
}

/** The roles have other names, the relation refers to a unique column that is not the key, and keys are soft-deleted. */
@Entity('account')
@UserAccount({ ...unhashed, username: 'code', password: 'pass', active: 'enabled', admin: 'boss' })
class Staff {
  @PrimaryGeneratedColumn('uuid') uid!: string
  @Column({ unique: true, length: 40 }) code!: string
  @Column() pass!: string
  @Column() enabled!: boolean
  @Column({ default: true }) boss!: boolean
}

@Entity()
@Index(['start'], { unique: true })
@ApiKeys({
  prefix: 'start',
  hash: 'digest',
  user: 'holder',
  expires: 'until',
  lastUsed: 'seen',
  permissions: 'rights',
})
@Resource({ auth: adminRule() })
class StaffKey {
  @PrimaryGeneratedColumn('uuid') id!: string
  @Column({ name: 'the_start', length: 15 }) start!: string
  @Column({ name: 'the_digest', length: 64 }) digest!: string
  @ManyToOne(() => Staff, { nullable: true })
  @JoinColumn({ name: 'holder_code', referencedColumnName: 'code' })
  holder!: Relation<Staff> | null
  @Column({ ...types.instant, nullable: true }) until!: Date | null
  @Column({ ...types.instant, nullable: true }) seen!: Date | null
  @Column({ type: 'text', nullable: true }) rights!: string | null
  @DeleteDateColumn() removed!: Date | null
}

@Entity()
@Resource({ auth: userRule() })
class Task {
  @PrimaryGeneratedColumn() id!: number
  @Column({ default: '' }) text!: string
}

@Entity()
@Resource({ auth: readOnlyRule() })
class Bulletin {
  @PrimaryGeneratedColumn() id!: number
}

const statusOf = async (world: World, key: string, line = 'GET /api/task/'): Promise<number> =>
  (await send(world.url, line, { headers: { Authorization: `ApiKey ${key}` } })).status

describe('users that are children under single-table inheritance', () => {
  let world: World
  beforeAll(async () => {
    const mount = { authenticators: [basic(), apiKeys()] }
    world = await openWorld({ entities: [Person, Employee, Visitor, Badge, Task], mount })
  })
  afterAll(() => world.close())

  test('a row of another child is no user', async () => {
    const { manager } = world.dataSource
    const employee = await manager.save(Employee, { code: 'e', pass: 'e', enabled: true })
    const key = await createApiKey(world.dataSource, { user: employee })
    expect(await statusOf(world, key)).toBe(200)
    const visitor = await manager.save(Visitor, { code: 'v' })
    await manager.update(Badge, { prefix: key.slice(0, 15) }, { user: { uid: visitor.uid } })
    expect(await statusOf(world, key)).toBe(401)
  })
})

describe('keys of several entities', () => {
  let world: World
  let user: User
  beforeAll(async () => {
    world = await openWorld({
      entities: [User, MachineKey, OtherKey, Task],
      mount: { authenticators: [basic(), apiKeys({ entity: OtherKey })] },
    })
    user = await world.dataSource.getRepository(User).save({ username: 'u', password: 'u' } as User)
  })
  afterAll(() => world.close())

  test('createApiKey must name the entity', async () => {
    await expect(createApiKey(world.dataSource, { user })).rejects.toThrow(
      /must name one of .*: MachineKey and OtherKey/,
    )
  })

  test('the authenticator accepts keys of its entity only', async () => {
    const accepted = await createApiKey(world.dataSource, OtherKey, { user })
    const refused = await createApiKey(world.dataSource, MachineKey, { user })
    expect([await statusOf(world, accepted), await statusOf(world, refused)]).toEqual([200, 401])
  })

  test('permissions in a column of JSON', async () => {
    const key = await createApiKey(world.dataSource, OtherKey, { user, rights: { task: ['read'] } })
    expect([await statusOf(world, key), await statusOf(world, key, 'POST /api/task/')]).toEqual([200, 401])
  })

  test('a soft-deleted user is no user', async () => {
    const gone = await world.dataSource.getRepository(User).save({ username: 'g', password: 'g' } as User)
    const key = await createApiKey(world.dataSource, OtherKey, { user: gone })
    expect(await statusOf(world, key)).toBe(200)
    await world.dataSource.getRepository(User).softDelete(gone.id)
    expect(await statusOf(world, key)).toBe(401)
  })

  test.each([
    ['filter', 'GET /api/otherkey/?digest=x', 400],
    ['ordering', 'GET /api/otherkey/?ordering=digest', 400],
    ['name of the column', 'GET /api/otherkey/?hash=x', 400],
  ])('the hash is hidden: %s', async (_, line, status) => {
    expect((await send(world.url, line, { as: 'u' })).status).toBe(status)
  })

  test.each<[mistake: string, values: object, message: RegExp]>([
    ['no user', {}, /needs "user"/],
    ['a user that is null', { user: null }, /needs "user"/],
    ['a hash', { user: { id: 1 }, hash: 'x' }, /sets "hash" itself/],
    ['a prefix', { user: { id: 1 }, prefix: 'x' }, /sets "prefix" itself/],
    [
      'an unknown property',
      { user: { id: 1 }, permissions: { task: ['read'] } },
      /unknown property "permissions" of OtherKey/,
    ],
    ['invalid permissions', { user: { id: 1 }, rights: { task: ['reed'] } }, /"rights" must be permissions such as/],
  ])('createApiKey throws for %s', async (_, values, message) => {
    await expect(createApiKey(world.dataSource, OtherKey, values as object)).rejects.toThrow(message)
    await expect(createApiKey(world.dataSource, OtherKey, values as object)).rejects.toBeInstanceOf(TypeError)
  })

  test('an error of the database contains no hash', async () => {
    const error: unknown = await createApiKey(world.dataSource, OtherKey, { user: { id: 999 } }).catch((cause) => cause)
    expect(Object(error).name).toBe('DatabaseError')
    expect(inspect(error, { depth: 8 })).not.toMatch(/[\da-f]{64}|ak_/)
  })
})

describe('an entity whose roles have other names', () => {
  let world: World
  let holder: Staff
  beforeAll(async () => {
    world = await openWorld({
      entities: [Staff, StaffKey, Task],
      mount: { authenticators: [basic(), apiKeys()] },
    })
    holder = await world.dataSource.getRepository(Staff).save({ code: 's', pass: 's', enabled: true } as Staff)
  })
  afterAll(() => world.close())

  test('a key is accepted, and its last use is written', async () => {
    const key = await createApiKey(world.dataSource, StaffKey, { holder, rights: '{"task":["read"]}' })
    expect([await statusOf(world, key), await statusOf(world, key, 'POST /api/task/')]).toEqual([200, 401])
    await setTimeout(150)
    const [row] = await world.dataSource.getRepository(StaffKey).findBy({ start: key.slice(0, 15) })
    expect(row?.seen).toBeInstanceOf(Date)
  })

  test('permissions in a text column must be JSON', async () => {
    await expect(createApiKey(world.dataSource, StaffKey, { holder, rights: 'task' })).rejects.toThrow(TypeError)
    const post = (rights: unknown) =>
      send(world.url, 'POST /api/staffkey/', { as: 's', body: { rights, holder_id: 's' } })
    expect((await post('{"task":["reed"]}')).status).toBe(400)
    expect((await post('task')).status).toBe(400)
    const reply = await post('{"task":["read"]}')
    expect(reply.status).toBe(201)
    expect(await statusOf(world, Object(reply.json()).key)).toBe(200)
  })

  test('a key without a user, and a soft-deleted key, are refused', async () => {
    const key = await createApiKey(world.dataSource, StaffKey, { holder })
    const orphan = await createApiKey(world.dataSource, StaffKey, { holder })
    const keys = world.dataSource.getRepository(StaffKey)
    await keys.update({ start: orphan.slice(0, 15) }, { holder: null })
    expect([await statusOf(world, key), await statusOf(world, orphan)]).toEqual([200, 401])
    await keys.softDelete({ start: key.slice(0, 15) })
    expect(await statusOf(world, key)).toBe(401)
  })
})

describe('mistakes at mount', () => {
  const mistakesOf = async (
    entities: NonNullable<DataSourceOptions['entities']>,
    options: Parameters<typeof mountResources>[2],
  ): Promise<readonly string[]> => {
    const dataSource: DataSource = await openDataSource(entities)
    try {
      mountResources(new Koa(), dataSource, options)
      return []
    } catch (error) {
      return Object(error).mistakes
    } finally {
      await dataSource.destroy()
      await dropDatabase(dataSource)
    }
  }

  test('all mistakes of an entity are reported at once', async () => {
    @Entity()
    @ApiKeys({ prefix: 'start', expires: 'until' })
    @Resource({ auth: readOnlyRule() })
    class Wrong {
      @PrimaryGeneratedColumn() id!: number
      @Column({ length: 10 }) start!: string
      @Column({ length: 40 }) hash!: string
      @ManyToOne(() => Task) user!: Relation<Task>
      @Column() until!: string
      @Column(types.instant) lastUsed!: Date
      @Column() permissions!: number
      @Column() key!: string
    }
    expect(await mistakesOf([User, Task, Wrong], { authenticators: [basic(), apiKeys()] })).toEqual([
      `Wrong: "until" must be a date-time column without a transformer: it is the keys' expires (@ApiKeys)`,
      `Wrong: "permissions" must be a column of JSON or text without a transformer: it is the keys' permissions (@ApiKeys)`,
      `Wrong: "user" cannot be the keys' user: @ApiKeys needs a many-to-one relation to User`,
      'Wrong: "start" has a length of 10 characters, but the prefix of a key needs 15',
      'Wrong: "hash" has a length of 40 characters, but the hash of a key needs 64',
      'Wrong: "start" must be unique, because it identifies a key: @Column({ unique: true })',
      'Wrong: "lastUsed" must be nullable: a new key has not been used',
    ])
  })

  const unsafe = 'every user could create API keys of other users'
  test.each<[rule: string, options: NonNullable<Parameters<typeof Resource>[0]>, mistakes: number]>([
    ['every user may choose the user', { auth: userRule() }, 1],
    ['the owner is another relation', { ownerField: 'creator' }, 1],
    ['the owner is the user', { ownerField: 'user' }, 0],
    ['only administrators write', { auth: adminRule() }, 0],
    ['nobody writes', { auth: readOnlyRule() }, 0],
    ['a permission decides', { auth: userRule(), may: { create: () => false } }, 0],
    ['a preset sets the user', { auth: userRule(), preset: ({ id }) => ({ user: id }) }, 0],
    ['the user is read-only', { auth: userRule(), readOnly: ['user'] }, 0],
  ])('who may create keys: %s', async (_, options, count) => {
    @Entity()
    class Boss {
      @PrimaryGeneratedColumn() id!: number
      @Column() username!: string
      @Column() password!: string
      @Column() admin!: boolean
    }
    UserAccount(unhashed)(Boss)
    @Entity()
    class Key {
      @PrimaryGeneratedColumn() id!: number
      @Column({ unique: true, length: 15 }) prefix!: string
      @Column() hash!: string
      @ManyToOne(() => Boss) user!: Relation<Boss>
      @ManyToOne(() => Boss) creator!: Relation<Boss>
    }
    ApiKeys()(Key)
    const resource = { entity: Key, ...options }
    const mistakes = await mistakesOf([Boss, Key], { authenticators: [apiKeys()], resources: [resource] })
    expect(mistakes.map((mistake) => mistake.includes(unsafe))).toEqual(Array.from({ length: count }, () => true))
  })

  const byPreset: readonly [rule: string, preset: Record<string, number>, as: string, status: number][] = [
    ['a preset without the user', {}, 'user', 500],
    ['a preset of the user', { user: 2 }, 'user', 201],
    ['an administrator chooses the user', {}, 'boss', 201],
  ]
  test.each(byPreset)('who may create keys with a preset: %s', async (_, preset, as, status) => {
    @Entity()
    class Boss {
      @PrimaryGeneratedColumn() id!: number
      @Column() username!: string
      @Column() password!: string
      @Column() admin!: boolean
    }
    UserAccount(unhashed)(Boss)
    @Entity()
    class Key {
      @PrimaryGeneratedColumn() id!: number
      @Column({ unique: true, length: 15 }) prefix!: string
      @Column() hash!: string
      @ManyToOne(() => Boss) user!: Relation<Boss>
    }
    ApiKeys()(Key)
    const world = await openWorld({
      entities: [Boss, Key],
      mount: {
        authenticators: [basic(), apiKeys()],
        resources: [{ entity: Key, auth: userRule(), preset: () => preset }],
      },
      seed: async (dataSource) => {
        const bosses = dataSource.getRepository(Boss)
        await bosses.insert({ username: 'boss', password: 'boss', admin: true })
        await bosses.insert({ username: 'user', password: 'user', admin: false })
      },
    })
    const reply = await send(world.url, 'POST /api/key/', { as, body: { user_id: 1 } })
    const keys = await world.dataSource.getRepository(Key).count()
    await world.close()
    expect([reply.status, keys]).toEqual([status, status === 201 ? 1 : 0])
  })

  test.each<[mistake: string, entities: NonNullable<DataSourceOptions['entities']>, entity: typeof Task | undefined]>([
    ['apiKeys() needs an entity with @ApiKeys; put it on one of the data source', [User, Task], undefined],
    [
      'apiKeys() must name one of the entities with @ApiKeys as "entity": MachineKey and OtherKey',
      [User, Task, MachineKey, OtherKey],
      undefined,
    ],
    [
      'apiKeys() names Task, which is not an entity with @ApiKeys; these are: MachineKey',
      [User, Task, MachineKey],
      Task,
    ],
  ])('%s', async (mistake, entities, entity) => {
    const authenticators = [basic(), entity === undefined ? apiKeys() : apiKeys({ entity })]
    expect((await mistakesOf(entities, { authenticators })).toSorted()).toEqual([mistake])
  })

  test('a relation to the parent of the user entity', async () => {
    const mistakes = await mistakesOf([Person, Employee, Visitor, PersonKey, Task], { authenticators: [apiKeys()] })
    expect(mistakes).toEqual([
      'PersonKey: "user" cannot be the keys\' user: @ApiKeys needs a many-to-one relation to Employee',
    ])
  })

  test('a mount without users', async () => {
    expect(await mistakesOf([Task], { authenticators: [apiKeys()], defaultAuth: readOnlyRule() })).toEqual([
      'apiKeys() needs an entity with @ApiKeys; put it on one of the data source',
      'apiKeys() needs users; put @UserAccount() on their entity or set the option "users"',
      'Task: its rule (user) needs users; put @UserAccount() on their entity or set the option "users"',
    ])
  })

  test.each<[options: object, message: RegExp]>([
    [{ entity: undefined }, /must be a class, not undefined; check for a circular import/],
    [{ entitiy: Task }, /unknown option "entitiy"; options: entity/],
  ])('apiKeys(%j) throws', (options, message) => {
    expect(() => apiKeys(options)).toThrow(message)
  })

  test('@ApiKeys must be called', () => {
    expect(() => ApiKeys(Task as never)).toThrow('@ApiKeys on Task must be called: write @ApiKeys()')
  })
})

describe('a mount warns of keys that it does not accept, if it', () => {
  const created = (name: string): string =>
    `warn typeorm-resources: requests can create API keys in the resource "${name}", but this mount does not accept ` +
    'them: unless another mount does, add apiKeys() to the option "authenticators"'
  const listed = { entity: MachineKey, auth: readOnlyRule(), scope: () => true }
  const own = custom({ scheme: 'apikey', authenticate: () => null })

  test.each<[rule: string, options: MountOptions, warnings: readonly string[]]>([
    ['creates them', {}, [created('otherkey')]],
    ['lists those of another entity', { resources: [listed] }, [created('otherkey')]],
    ['verifies them with apiKeys()', { authenticators: [basic(), apiKeys({ entity: OtherKey })] }, []],
    ['verifies them itself', { authenticators: [basic(), own] }, []],
  ])('%s', async (_, options, warnings) => {
    const logged: string[] = []
    const dataSource = await openDataSource([User, OtherKey, MachineKey, Task], undefined, {}, (line) =>
      logged.push(line),
    )
    mountResources(new Koa(), dataSource, options)
    await dataSource.destroy()
    await dropDatabase(dataSource)
    expect(logged.filter((line) => line.includes('API keys'))).toEqual(warnings)
  })
})

test.each([1, 4])('a pool of %d connections, all in use: writing the last use fails no request', async (poolSize) => {
  const world = await openWorld({
    entities: [Staff, StaffKey, Task],
    mount: { authenticators: [basic(), apiKeys()] },
    source: { poolSize } as object,
  })
  const holder = await world.dataSource.getRepository(Staff).save({ code: 's', pass: 's', enabled: true } as Staff)
  const statuses = new Set<number>()
  for (let round = 0; round < 3; round++) {
    const keys = await Promise.all([1, 2, 3].map(() => createApiKey(world.dataSource, StaffKey, { holder })))
    const requests = keys.flatMap((key) => Array.from({ length: 15 }, () => statusOf(world, key)))
    for (const status of await Promise.all(requests)) statuses.add(status)
  }
  // The data source is closed while the last use may still be written.
  await world.close()
  expect([...statuses]).toEqual([200])
  expect(world.faults).toEqual([])
})

if (!isSqlite)
  test('a request with a wrong key does not make those with the right one wait for its turn', async () => {
    const world = await openWorld({
      entities: [Staff, StaffKey, Task, Bulletin],
      mount: { authenticators: [basic(), apiKeys()], waitLimit: 60_000 },
      before: (app) => Object.assign(app, { proxy: true }),
      source: { poolSize: 6 } as object,
    })
    const holder = await world.dataSource.getRepository(Staff).save({ code: 's', pass: 's', enabled: true } as Staff)
    const key = await createApiKey(world.dataSource, StaffKey, { holder })
    const other = { 'X-Forwarded-For': '192.0.2.1' }
    const runner = world.dataSource.createQueryRunner()
    await runner.connect()
    await runner.startTransaction()
    await runner.query(isPostgres ? 'LOCK TABLE bulletin' : 'LOCK TABLES bulletin WRITE')
    // More than the connections of this client.
    const slow = Array.from({ length: 8 }, () => send(world.url, 'GET /api/bulletin/', { headers: other }))
    await setTimeout(300)
    const Authorization = `ApiKey ${key.slice(0, 16)}${'a'.repeat(32)}`
    const wrong = send(world.url, 'GET /api/task/', { headers: { ...other, Authorization } })
    await setTimeout(100)
    expect(await statusOf(world, key)).toBe(200)
    await runner.query(isPostgres ? 'ROLLBACK' : 'UNLOCK TABLES')
    await runner.release()
    expect((await Promise.all(slow)).map(({ status }) => status)).toEqual(slow.map(() => 200))
    expect((await wrong).status).toBe(401)
    await world.close()
    expect(world.faults).toEqual([])
  })
