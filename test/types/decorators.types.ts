/** Type tests of the decorators: `npm run types` fails if a valid line does not compile, or if a mistake does. */
import { createPublicKey } from 'node:crypto'
import Koa from 'koa'
import type { DataSource, EntitySchema } from 'typeorm'
import {
  ApiKeys,
  adminRule,
  bearer,
  type FilterObject,
  hashPassword,
  type Mounted,
  mountResources,
  type Principal,
  Resource,
  type Rule,
  readOnlyRule,
  UserAccount,
  userRule,
  verifyPassword,
} from 'typeorm-resources'

declare const dataSource: DataSource
declare const schema: EntitySchema<{ id: number }>

@Resource()
@Resource({})
@Resource({
  name: 'users',
  exclude: ['password', 'email', 'boss.password'],
  search: ['login', 'boss.login'],
  readOnly: ['created'],
  auth: adminRule(),
  ownerField: 'boss',
})
@UserAccount()
@UserAccount({ username: 'login', password: 'password', admin: 'isAdmin', active: 'email' })
@UserAccount({ principal: ['boss', 'email'] })
@ApiKeys()
@ApiKeys({ prefix: 'login', hash: 'password', user: 'boss', expires: 'created' })
@UserAccount({ hash: (plain) => `${plain}!`, verify: async (plain, hash) => hash === `${plain}!` })
class User {
  id!: number
  login!: string
  password!: string
  email!: string | null
  isAdmin!: boolean
  created!: Date
  boss!: User | null
  note?: string
  posts?: User[]
  constructor(_name?: string) {}
}

@Resource({ exclude: ['note', 'title'], rename: { id: 'number' }, ownerField: 'user' })
@UserAccount({ username: 'title', active: 'note' })
class Optional {
  id!: number
  title?: string
  note?: string
  user?: User
}
void Optional

@Resource({ search: { fields: ['id'], index: 'bare_search', configuration: 'english' } })
@Resource({ auth: adminRule() })
@Resource({ ownerField: { field: 'id', is: (me) => me.id } })
@UserAccount()
class Bare {
  id?: number
}
void Bare

// @ts-expect-error a misspelt name to rename
@Resource({ exclude: ['email'], rename: { idd: 'number' } })
// @ts-expect-error a misspelt name of an embedded entity
@Resource({ exclude: ['bos.password'] })
// @ts-expect-error a misspelt name in the fields of an index
@Resource({ search: { fields: ['logn'], index: 'user_search' } })
// @ts-expect-error an index without its name
@Resource({ search: { fields: ['login'] } })
// @ts-expect-error a misspelt name in search
@Resource({ search: ['logn'] })
// @ts-expect-error a misspelt name in exclude
@Resource({ exclude: ['pasword'] })
// @ts-expect-error a misspelt name in readOnly
@Resource({ readOnly: ['id', 'creatd'] })
// @ts-expect-error a misspelt ownerField
@Resource({ ownerField: 'bos' })
// @ts-expect-error a misspelt field of an ownerField
@Resource({ ownerField: { field: 'bos', is: (me) => me.id } })
// @ts-expect-error a function that does not return a key
@Resource({ ownerField: { field: 'boss', is: (me) => me } })
// @ts-expect-error a misspelt property of the account
@UserAccount({ admin: 'admin' })
// @ts-expect-error a misspelt property of API keys
@ApiKeys({ user: 'bos' })
// @ts-expect-error a misspelt property of principals
@UserAccount({ principal: ['boss', 'emial'] })
// @ts-expect-error an unknown option
@Resource({ excludes: ['password'] })
// @ts-expect-error a rule that was not called
@Resource({ auth: userRule })
// @ts-expect-error a rule that does not return a principal
@Resource({ auth: () => true })
class Misspelt extends User {}

const tokens = {
  issuer: 'https://id.example.org',
  audience: 'api',
  algorithms: ['RS256'],
  principal: () => ({ id: 1 }),
} as const
const jsonKey = { kty: 'RSA', n: 'AQAB', e: 'AQAB', kid: '1', x5t: '' }
bearer({ ...tokens, keys: jsonKey })
bearer({ ...tokens, keys: [createPublicKey('').export({ format: 'jwk' }), { ...jsonKey, use: 'sig' }] })
bearer({ ...tokens, keys: { keys: [{ ...jsonKey, alg: 'RS256' }] } })
// @ts-expect-error a key of another type
bearer({ ...tokens, keys: 42 })
// @ts-expect-error a JSON Web Key whose identifier is not a string
bearer({ ...tokens, keys: [{ kty: 'RSA', kid: 1 }] })

/** Decorators that are called as standard decorators are. */
Resource({ exclude: ['password'] })(User, {} as ClassDecoratorContext)

const session: Rule = ({ context }) => context.state['user'] ?? null
const token: Rule = async ({ credentials, method, reads }) =>
  reads || (method === 'POST' && credentials?.username === 'x') ? { id: 'x', admin: false } : undefined

interface State {
  user: User
}
const app = new Koa<State, { requestId: string }>()
const mounted: Mounted = mountResources(app, dataSource)
mountResources(new Koa(), dataSource, {
  prefix: '/v1',
  defaultAuth: readOnlyRule(),
  limit: { max: 50 },
  users: { entity: User, username: 'login', admin: 'isAdmin' },
  resources: [
    { entity: schema, auth: session },
    { entity: 'name', exclude: ['x'], auth: token },
    { entity: Misspelt, auth: userRule({ read: 'public' }) },
  ],
})
mountResources(app, dataSource, {
  databaseSettings: ({ id, admin }) => ({ 'app.id': String(id), 'app.admin': admin === true }),
})
// @ts-expect-error a value that may be missing
mountResources(app, dataSource, { databaseSettings: ({ id }) => ({ 'app.id': id }) })
// @ts-expect-error an unknown option
mountResources(app, dataSource, { prefx: '/v1' })
// @ts-expect-error reading is public or not
userRule({ read: 'private' })

export const path: string | undefined = mounted.resources[0]?.path
export const principal: Principal = { id: 1, admin: true }
export const hash: Promise<string> = hashPassword('x')
export const verified: Promise<boolean> = verifyPassword('x', 'y')

const isBoss = (me: Principal): boolean => me.admin === true

class Team {
  key!: string
  people!: Promise<Member[]>
}
class Place {
  city!: string
}
class Member {
  id!: number
  name!: string
  place!: Place
  team!: Team | null
  boss?: Member
}

@Resource({ scope: 'all' })
@Resource({ scope: { through: 'boss' } })
@Resource({ scope: () => true })
@Resource({ scope: ({ id, admin }) => admin === true || { id } })
@Resource({ scope: (me) => [{ boss: me.id }, { boss_id: me.id, name__in: ['a', null] }] })
@Resource({ scope: (me) => ({ place__city__ilike: 'r%', team__people__boss__is: 'null', team__people__id: me.id }) })
@Resource({
  scope: () => ({ team__id: 'x', or: [{ name: 'a' }, { not: { team__key: 'b' } }], not: { boss__id__in: [1] } }),
})
@Resource({ scope: (): FilterObject => ({ whatever: 1 }) })
@Resource({ rename: { name: 'title' }, scope: () => ({ title: 'x' }) })
@Resource({ fields: { name: { read: (me) => me.admin === true, write: false }, team: { read: true }, boss: {} } })
@Resource({ fields: { 'place.city': { write: ({ id }) => id === 1 }, place: { read: isBoss } }, exclude: ['boss'] })
@Resource({ fields: { name: { read: isBoss } }, scope: (me) => ({ boss: me.id }), rename: { id: 'number' } })
// @ts-expect-error a misspelt property with permissions
@Resource({ fields: { nam: { read: isBoss } } })
// @ts-expect-error a misspelt embedded entity with permissions
@Resource({ fields: { 'plac.city': { read: isBoss } } })
// @ts-expect-error a misspelt permission
@Resource({ fields: { name: { raed: isBoss } } })
// @ts-expect-error a permission that is async
@Resource({ fields: { name: { read: async () => true } } })
// @ts-expect-error a permission that may be undefined
@Resource({ fields: { name: { read: (me) => me.admin } } })
// @ts-expect-error a permission of another type
@Resource({ fields: { name: { read: 'admin' } } })
// @ts-expect-error a misspelt property
@Resource({ scope: () => ({ nam: 'x' }) })
// @ts-expect-error a misspelt property of a related entity
@Resource({ scope: () => ({ team__people__nam: 'x' }) })
// @ts-expect-error a misspelt operator
@Resource({ scope: () => ({ name__lik: 'x' }) })
// @ts-expect-error a misspelt property of an embedded entity
@Resource({ scope: () => ({ place__town: 'x' }) })
// @ts-expect-error a misspelt property in a group
@Resource({ scope: () => ({ name: 'x', or: [{ nam: 'x' }] }) })
// @ts-expect-error a misspelt property in one of several filters
@Resource({ scope: () => [{ name: 'x' }, { nam: 'x' }] })
// @ts-expect-error a misspelt relation
@Resource({ scope: { through: 'bos' } })
// @ts-expect-error a value that may be undefined
@Resource({ scope: (me) => ({ name: me.admin }) })
// @ts-expect-error a result that may be undefined
@Resource({ scope: (me) => (me.admin ? true : undefined) })
// @ts-expect-error an asynchronous function
@Resource({ scope: async () => true })
class Scoped extends Member {}
void Scoped

@Resource({ may: { create: ({ admin }) => admin === true, update: true, delete: { name: 'x' } } })
@Resource({ may: { delete: (me) => me.admin === true && { boss: me.id } } })
@Resource({ may: { update: { before: { name: 'x' }, after: { name__in: ['x', 'y'] } } } })
@Resource({ may: { update: (me) => (me.admin ? { after: { team__id: 'x' } } : [{ boss: me.id }, { name: 'x' }]) } })
@Resource({ preset: (me) => ({ boss: me.id, name: null }), scope: (me) => ({ boss: me.id }) })
// @ts-expect-error a misspelt action
@Resource({ may: { remove: true } })
// @ts-expect-error a misspelt property
@Resource({ may: { update: () => ({ nam: 'x' }) } })
// @ts-expect-error a misspelt property in one of two actions
@Resource({ may: { create: { name: 'x' }, update: { nam: 'x' } } })
// @ts-expect-error a misspelt property in the state after an update
@Resource({ may: { update: (me) => me.admin === true && { before: { name: 'x' }, after: { nam: 'x' } } } })
// @ts-expect-error a result that may be undefined
@Resource({ may: { delete: (me) => (me.admin ? true : undefined) } })
// @ts-expect-error an asynchronous function
@Resource({ may: { create: async () => true } })
// @ts-expect-error a misspelt property
@Resource({ preset: () => ({ nam: 'x' }) })
// @ts-expect-error a value that may be undefined
@Resource({ preset: (me) => ({ name: me.admin }) })
class Permitted extends Member {}
void Permitted
