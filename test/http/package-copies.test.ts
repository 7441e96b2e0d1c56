import { Column, Entity, ManyToOne, PrimaryGeneratedColumn, type Relation } from 'typeorm'
import { hashPassword, userRule } from 'typeorm-resources'
import { send } from '../client'
import { loadCopy } from '../support/package-copy'
import { openWorld, type World } from '../world/world'

/** A package with entities may have its own copy of this package, whose decorators the mount must know. */

const { ApiKeys, Resource, UserAccount } = loadCopy()

@Entity()
@UserAccount()
class Member {
  @PrimaryGeneratedColumn() id!: number
  @Column({ unique: true, length: 40 }) username!: string
  @Column({ length: 200 }) password!: string
}

@Entity()
@ApiKeys()
class Key {
  @PrimaryGeneratedColumn() id!: number
  @Column({ unique: true, length: 40 }) prefix!: string
  @Column({ length: 64 }) hash!: string
  @ManyToOne(() => Member) user!: Relation<Member>
}

@Entity()
@Resource({ auth: userRule(), exclude: ['secret'] })
class Paper {
  @PrimaryGeneratedColumn() id!: number
  @Column({ default: 'canary', length: 10 }) secret!: string
}

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [Member, Key, Paper],
    mount: { resources: [{ entity: Member }, { entity: Key }] },
    seed: async ({ manager }) => {
      const [user] = await manager.save(Member, [{ username: 'ann', password: await hashPassword('ann') }])
      await manager.insert(Key, { prefix: 'tr_012345678901', hash: 'canary', user: user as Member })
      await manager.insert(Paper, {})
    },
  })
})
afterAll(() => world.close())

test('the decorators of another copy of this package hide what they declare', async () => {
  for (const name of ['member', 'key', 'paper']) {
    const { status, text } = await send(world.url, `GET /api/${name}/1/`, { as: 'ann' })
    expect([name, status, /password|hash|secret/.exec(text)]).toEqual([name, 200, null])
  }
})

test('a user of another copy of this package can log in', async () => {
  expect((await send(world.url, 'GET /api/paper/')).status).toBe(401)
  expect((await send(world.url, 'GET /api/paper/', { as: 'ann' })).status).toBe(200)
})
