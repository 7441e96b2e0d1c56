import {
  ChildEntity,
  Column,
  Entity,
  JoinColumn,
  ManyToOne,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type Relation,
  TableInheritance,
} from 'typeorm'
import { adminRule, mountResources, Resource, userRule } from 'typeorm-resources'
import { send } from '../client'
import { unhashed } from '../support/unhashed'
import { openWorld } from '../world/world'

/** Only columns of the user entity itself determine who a user is and what the user may do. */

@Entity()
@Resource({ auth: adminRule() })
class Setting {
  @PrimaryGeneratedColumn() id!: number
}

class Preferences {
  @Column({ default: false }) admin!: boolean
  @Column({ default: true }) active!: boolean
}

@Entity()
@Resource({ auth: userRule() })
class Preferring {
  @PrimaryGeneratedColumn() id!: number
  @Column() username!: string
  @Column() password!: string
  @Column(() => Preferences) preferences!: Preferences
}

/** Its relation `admin` refers to the user who looks after this one. */
@Entity()
@Resource({ auth: userRule() })
class LookedAfter {
  @PrimaryGeneratedColumn() id!: number
  @Column() username!: string
  @Column() password!: string
  @ManyToOne(() => LookedAfter) admin!: Relation<LookedAfter> | null
  @ManyToOne(() => LookedAfter) active!: Relation<LookedAfter> | null
}

@Entity()
@TableInheritance({ column: { type: 'varchar', name: 'type' } })
@Resource({ auth: userRule() })
class Member {
  @PrimaryGeneratedColumn() id!: number
  @Column() username!: string
  @Column() password!: string
}

@ChildEntity()
@Resource({ name: 'staff', auth: userRule() })
class Staff extends Member {
  @Column({ default: false }) admin!: boolean
  @Column({ default: true }) active!: boolean
}

@ChildEntity()
class Guest extends Member {
  @Column(() => Preferences) preferences!: Preferences
}

class Base {
  @PrimaryGeneratedColumn() id!: number
  @Column({ default: false }) admin!: boolean
}

/** Inherits its columns from a base class. */
@Entity()
class Derived extends Base {
  @Column() username!: string
  @Column() password!: string
}

const ann = { username: 'ann', password: 'ann' }

test.each([
  ['an embedded entity', Preferring],
  ['a relation', LookedAfter],
  ['a child entity', Member],
] as const)('a flag in %s does not make a user an administrator', async (_, entity) => {
  const entities = entity === Member ? [Member, Staff, Setting] : [entity, Setting]
  const world = await openWorld({ entities, mountOn: () => ({ resources: [] }) })
  expect(() => mountResources(world.app, world.dataSource, { users: { entity, ...unhashed } })).toThrow(
    'Setting: its rule (admin) needs administrators; name their property in @UserAccount({ admin })',
  )
  await world.close()
})

test.each([
  ['an embedded entity', Preferring, 'preferring', { preferences: { active: false } }],
  ['a relation', LookedAfter, 'lookedafter', { active_id: null }],
  ['a child entity', Staff, 'staff', { active: false }],
] as const)('a flag in %s does not deactivate a user', async (_, entity, name, body) => {
  const world = await openWorld({
    entities: entity === Staff ? [Member, Staff] : [entity],
    mount: { users: { entity: entity === Staff ? Member : entity, ...unhashed } },
    seed: async ({ manager }) => void (await manager.save(entity, manager.create(entity as typeof Staff, ann))),
  })
  expect((await send(world.url, `PUT /api/${name}/1/`, { as: 'ann', body })).status).toBe(200)
  expect((await send(world.url, `GET /api/${name}/`, { as: 'ann' })).status).toBe(200)
  await world.close()
})

test.each([
  [Preferring, 'admin'],
  [LookedAfter, 'admin'],
  [Member, 'admin'],
  [Member, 'active'],
] as const)('%p: a column that is not the user’s cannot be named as "%s"', async (entity, role) => {
  const world = await openWorld({
    entities: [Preferring, LookedAfter, Member, Staff],
    mountOn: () => ({ resources: [] }),
  })
  const users = { entity, ...unhashed, [role]: role }
  expect(() => mountResources(world.app, world.dataSource, { users })).toThrow(`"${role}" cannot be the users' ${role}`)
  await world.close()
})

test.each(['admin', 'active'])('a flag in an embedded entity of a child cannot be named as "%s"', async (role) => {
  const world = await openWorld({ entities: [Member, Guest], mountOn: () => ({ resources: [] }) })
  const flag = `preferences.${role}`
  const users = { entity: Member, ...unhashed, [role]: flag }
  expect(() => mountResources(world.app, world.dataSource, { users })).toThrow(`"${flag}" cannot be the users' ${role}`)
  await world.close()
})

test('a flag of a base class, and one in an embedded entity that is named by its path, are flags of the user', async () => {
  for (const [entity, admin, flag] of [
    [Derived, undefined, { admin: true }],
    [Preferring, 'preferences.admin', { preferences: { admin: true, active: true } }],
  ] as const) {
    const world = await openWorld({
      entities: [entity, Setting],
      seed: async ({ manager }) =>
        void (await manager.save(entity as typeof Derived, { ...ann, ...(flag as { admin: boolean }) })),
      mount: { users: { entity, ...unhashed, ...(admin && { admin }) } },
    })
    expect((await send(world.url, 'GET /api/setting/', { as: 'ann' })).status).toBe(200)
    await world.close()
  }
})

@Entity()
class Tenant {
  @PrimaryColumn() tenant!: number
  @PrimaryColumn() num!: number
  @Column() username!: string
  @Column() password!: string
}

@Entity()
@Resource({ ownerField: 'owner', auth: userRule() })
class Note {
  @PrimaryGeneratedColumn() id!: number
  @ManyToOne(() => Tenant, { createForeignKeyConstraints: false })
  @JoinColumn({ referencedColumnName: 'num' })
  owner!: Relation<Tenant>
}

test('an owner whose key has several columns is refused, since a principal has a single key', async () => {
  const world = await openWorld({
    entities: [Tenant, Note],
    mountOn: () => ({ resources: [] }),
  })
  expect(() => mountResources(world.app, world.dataSource, { users: { entity: Tenant, ...unhashed } })).toThrow(
    '"ownerField" must be a many-to-one relation to the key of Tenant, not "owner"',
  )
  await world.close()
})
