import {
  Column,
  type ColumnType,
  Entity,
  EntitySchema,
  type EntitySchemaColumnOptions,
  PrimaryColumn,
  PrimaryGeneratedColumn,
} from 'typeorm'
import { adminRule, type Mounted, mountResources, userRule } from 'typeorm-resources'
import { send } from '../client'
import { unhashed } from '../support/unhashed'
import { openWorld, type World } from '../world/world'

@Entity()
class Report {
  @PrimaryGeneratedColumn() id!: number
}

@Entity()
class Setting {
  @PrimaryGeneratedColumn() id!: number
}

type Role = 'username' | 'password' | 'admin' | 'active' | 'email'
type AccountRow = { readonly id: number } & Readonly<Record<Role, string | boolean>>

const roles: readonly Role[] = ['username', 'password', 'admin', 'active', 'email']

const columnTypes: Readonly<Record<Role, ColumnType>> = {
  username: 'varchar',
  password: 'varchar',
  admin: 'boolean',
  active: 'boolean',
  email: 'varchar',
}

/** Column names that look like keywords, aliases of a statement or other columns. */
const unusualNames: readonly Readonly<Record<Role, string>>[] = [
  { username: 'user name', password: 'pass-word', admin: 'group', active: 'order', email: 'select' },
  { username: '4', password: '3', admin: '2', active: '1', email: '0' },
  { username: 'email', password: 'username', admin: 'active', active: 'admin', email: 'password' },
  { username: 'u.username', password: 'pässword', admin: 'Admin', active: 'ACTIVE', email: 'u' },
]

function permutations<Item>(items: readonly Item[]): readonly (readonly Item[])[] {
  if (items.length === 0) return [[]]
  return items.flatMap((item, index) => permutations(items.toSpliced(index, 1)).map((others) => [item, ...others]))
}

/** Declares a user entity whose columns have this order, for every second index with unusual names. */
function usersOf(order: readonly Role[], index: number): EntitySchema<AccountRow> {
  const names = index % 2 === 0 ? undefined : unusualNames[((index - 1) / 2) % unusualNames.length]
  const columns = order.map((role): [string, EntitySchemaColumnOptions] => [
    role,
    { type: columnTypes[role], select: role !== 'password', ...(names && { name: names[role] }) },
  ])
  const id: [string, EntitySchemaColumnOptions] = ['id', { type: 'int', primary: true }]
  return new EntitySchema<AccountRow>({
    name: `Users${index}`,
    columns: Object.fromEntries(columns.toSpliced(index % 6, 0, id)) as never,
  })
}

const accounts: readonly AccountRow[] = [
  { id: 11, username: 'user', password: 'user', admin: false, active: true, email: 'x' },
  { id: 12, username: 'admin', password: 'admin', admin: true, active: true, email: 'admin' },
  { id: 13, username: 'former admin', password: 'former admin', admin: true, active: false, email: 'y' },
  { id: 14, username: 'former user', password: 'former user', admin: false, active: false, email: 'user' },
]

/** Statuses with the user rule, and with the admin rule. */
const expected = { user: [200, 401], admin: [200, 200], 'former admin': [401, 401], 'former user': [401, 401] }

const statuses = async (url: string, prefix: string): Promise<unknown> => {
  const found: Record<string, readonly number[]> = {}
  for (const { username } of accounts) {
    const as = String(username)
    found[as] = [
      (await send(url, `GET ${prefix}/report/`, { as })).status,
      (await send(url, `GET ${prefix}/setting/`, { as })).status,
    ]
  }
  return found
}

const resources = [
  { entity: Report, auth: userRule() },
  { entity: Setting, auth: adminRule() },
]

const worlds: World[] = []
afterAll(() => Promise.all(worlds.map((world) => world.close())))

// Every order of the four columns that are read for a login; the fifth, which is not read, at each position in turn.
const orders = permutations(roles.slice(0, 4)).map((order, index) => order.toSpliced(index % 5, 0, 'email'))
const tables = [...orders, ['username', 'password', 'email', 'active', 'admin'] as const].map((order, index) => ({
  order: order.join(', '),
  entity: usersOf(order, index),
  prefix: `/site${index}`,
}))
/** Groups of tables: each mount adds listeners to the pool of the data source, and Node warns when there are more than ten. */
const groups = [0, 1, 2, 3, 4].map((group) => ({ group, tables: tables.filter((_, index) => index % 5 === group) }))

describe.each(groups)('logins and administrators are recognized whatever the order of columns is: $group', (group) => {
  let world: World
  beforeAll(async () => {
    world = await openWorld({
      entities: [Report, Setting, ...group.tables.map(({ entity }) => entity)],
      seed: async (dataSource) => {
        for (const { entity } of group.tables) await dataSource.getRepository(entity).insert([...accounts])
      },
      mountOn: (app, dataSource) => {
        const mounts = group.tables.map(({ entity, prefix }) =>
          mountResources(app, dataSource, { prefix, resources, users: { entity, ...unhashed } }),
        )
        return mounts[0] as Mounted
      },
    })
    worlds.push(world)
  })

  test.each(group.tables)('$order', async ({ prefix }) => {
    expect(await statuses(world.url, prefix)).toEqual(expected)
  })
})

/** Transformer that adds 1000 to stored keys. */
const offset = { to: (id: number): number => id + 1000, from: (id: number): number => id - 1000 }
/** Transformer that stores texts in reverse. */
const reversed = {
  to: (text: string): string => [...text].reverse().join(''),
  from: (text: string): string => [...text].reverse().join(''),
}

class Login {
  @Column({ name: 'secret', select: false, transformer: reversed }) password!: string
  @Column({ name: 'login_name' }) username!: string
}

@Entity()
class Member {
  @Column({ name: 'is_active' }) active!: boolean
  @Column(() => Login) login!: Login
  @Column({ type: 'smallint', name: 'is_admin' }) admin!: number
  @PrimaryColumn({ type: 'int', transformer: offset }) id!: number
}

test('an account can have embedded columns, transformers and a hidden password', async () => {
  const ids: unknown[] = []
  const world = await openWorld({
    entities: [Report, Setting, Member],
    seed: async (dataSource) => {
      const members = accounts.map(({ id, username, password, admin, active }) => ({
        ...{ id, admin: Number(admin), active: active === true },
        login: { username: String(username), password: String(password) },
      }))
      await dataSource.getRepository(Member).insert(members)
    },
    mount: {
      resources: resources.map(({ entity, auth }) => ({
        entity,
        auth: async (request) => {
          const principal = await auth(request)
          if (principal) ids.push(principal.id)
          return principal
        },
      })),
      users: { entity: Member, ...unhashed },
    },
  })
  worlds.push(world)
  expect(await statuses(world.url, '/api')).toEqual(expected)
  expect(ids).toEqual([11, 12, 12])
})
