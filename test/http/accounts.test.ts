import { Column, Entity, PrimaryGeneratedColumn, type ValueTransformer } from 'typeorm'
import { adminRule, hashPassword, Resource, UserAccount, userRule, verifyPassword } from 'typeorm-resources'
import { basic, send } from '../client'
import { worldPerTest } from '../support/world-per-test'

const openForTest = worldPerTest()

@Entity()
class Person {
  @PrimaryGeneratedColumn() id!: number
  @Column() login!: string
  @Column() hash!: string
  @Column({ default: false }) boss!: boolean
}

@Entity()
@Resource({ auth: adminRule() })
class Secret {
  @PrimaryGeneratedColumn() id!: number
}

/** Does not exclude its password property, which is hidden all the same. */
@Entity()
@UserAccount()
@Resource({ auth: userRule() })
class NotExcluded {
  @PrimaryGeneratedColumn() id!: number
  @Column() username!: string
  @Column() password!: string
}

@Entity()
class Guest {
  @PrimaryGeneratedColumn() id!: number
  @Column() username!: string
  @Column({ type: 'varchar', nullable: true }) password!: string | null
  @Column({ default: true }) active!: boolean
}

const from = (username: string, password: string): { headers: Record<string, string> } => ({
  headers: { Authorization: basic(username, password) },
})

test('the user entity needs no decorator, and its properties can have other names', async () => {
  const { url } = await openForTest({
    entities: [Person, Secret],
    mount: { users: { entity: Person, username: 'login', password: 'hash', admin: 'boss' } },
    seed: async (dataSource) => {
      const hash = await hashPassword('pass:word é')
      await dataSource.getRepository(Person).insert([
        { login: 'bo', hash, boss: true },
        { login: 'al', hash },
      ])
    },
  })
  expect((await send(url, 'GET /api/secret/', from('bo', 'pass:word é'))).status).toBe(200)
  expect((await send(url, 'GET /api/secret/', from('bo', 'pass:word e'))).status).toBe(401)
  expect((await send(url, 'GET /api/secret/', from('al', 'pass:word é'))).status).toBe(401)
})

test('the password property is hidden and hashed even if "exclude" does not contain it', async () => {
  const { url, mounted, dataSource } = await openForTest({
    entities: [NotExcluded],
    seed: async (source) => {
      await source.getRepository(NotExcluded).insert({ username: 'al', password: await hashPassword('al') })
    },
  })
  expect(mounted.resources[0]?.fields).toEqual(['id', 'username'])
  const made = await send(url, 'POST /api/notexcluded/', { as: 'al', body: { username: 'bo', password: 'bo' } })
  expect([made.status, made.json()]).toEqual([201, { id: 2, username: 'bo' }])
  const stored = await dataSource.getRepository(NotExcluded).findOneByOrFail({ id: 2 })
  expect(stored.password).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  expect((await send(url, 'GET /api/notexcluded/?password__like=%25', { as: 'bo' })).status).toBe(400)
})

test('a user whose stored password is not hashed cannot log in', async () => {
  const { url } = await openForTest({
    entities: [NotExcluded],
    seed: async (source) => {
      await source.getRepository(NotExcluded).insert({ username: 'al', password: 'al' })
    },
  })
  expect((await send(url, 'GET /api/notexcluded/', { as: 'al' })).status).toBe(401)
})

const emailOnly: ValueTransformer = {
  to: (value: unknown) => {
    if (String(value).includes('@')) return value
    throw new Error('not an e-mail address')
  },
  from: (value: unknown) => value,
}

@Entity()
@Resource({ auth: userRule() })
@UserAccount()
class Subscriber {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'varchar', length: 100, transformer: emailOnly }) username!: string
  @Column({ length: 100 }) password!: string
}

test('a username that its transformer rejects matches no user', async () => {
  const { url } = await openForTest({
    entities: [Subscriber],
    seed: async (source) => {
      await source.getRepository(Subscriber).insert({ username: 'al@x', password: await hashPassword('al') })
    },
  })
  expect((await send(url, 'GET /api/subscriber/', from('al@x', 'al'))).status).toBe(200)
  expect((await send(url, 'GET /api/subscriber/', from('al', 'al'))).status).toBe(401)
})

test('a changed password, and the deletion of a user, take effect at once', async () => {
  const { url, dataSource } = await openForTest({
    entities: [NotExcluded],
    seed: async (source) => {
      await source.getRepository(NotExcluded).insert({ username: 'al', password: await hashPassword('al') })
    },
  })
  expect((await send(url, 'GET /api/notexcluded/', { as: 'al' })).status).toBe(200)
  await dataSource.getRepository(NotExcluded).update(1, { password: await hashPassword('new') })
  expect((await send(url, 'GET /api/notexcluded/', { as: 'al' })).status).toBe(401)
  expect((await send(url, 'GET /api/notexcluded/', from('al', 'new'))).status).toBe(200)
  await dataSource.getRepository(NotExcluded).delete(1)
  expect((await send(url, 'GET /api/notexcluded/', from('al', 'new'))).status).toBe(401)
})

test('a login as an unknown, inactive or password-less user takes as long as one with a wrong password', async () => {
  const checked: string[] = []
  const { url } = await openForTest({
    entities: [Guest, Secret],
    mount: {
      defaultAuth: userRule(),
      resources: [{ entity: Guest, name: 'guest' }],
      users: {
        entity: Guest,
        admin: 'active',
        hash: (plain) => `hash of ${plain}`,
        verify: (plain, hash) => {
          checked.push(hash)
          return hash === `hash of ${plain}`
        },
      },
    },
    seed: async (source) => {
      await source.getRepository(Guest).insert([
        { username: 'al', password: 'hash of al' },
        { username: 'bo', password: 'hash of bo', active: false },
        { username: 'cy', password: null },
      ])
    },
  })
  for (const name of ['al', 'bo', 'cy', 'nobody']) {
    const before = checked.length
    const { status } = await send(url, 'GET /api/guest/', { as: name })
    expect([name, status, checked.length - before]).toEqual([name, name === 'al' ? 200 : 401, 1])
  }
  const decoys = new Set(checked.slice(1))
  expect([decoys.size, decoys.has(checked[0] ?? '')]).toEqual([1, false])
})

test('hashPassword and verifyPassword work together', async () => {
  const hash = await hashPassword('päss')
  expect(hash).toHaveLength(97)
  expect(hash).not.toBe(await hashPassword('päss'))
  expect(await verifyPassword('päss', hash)).toBe(true)
  expect(await verifyPassword('pass', hash)).toBe(false)
  for (const none of ['', 'päss', '$argon2id$broken', '$2b$10$abcdefghijklmnopqrstuv']) {
    expect(await verifyPassword('päss', none)).toBe(false)
  }
})

test('hashPassword refuses a value that is not a string', async () => {
  const error = new TypeError('hashPassword() needs a string, not undefined')
  await expect(hashPassword(undefined as never)).rejects.toThrow(error)
})
