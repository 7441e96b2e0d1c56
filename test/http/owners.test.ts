import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { Column, Entity, ManyToOne, PrimaryGeneratedColumn } from 'typeorm'
import { type Principal, Resource, type Rule, readOnlyRule } from 'typeorm-resources'
import { send } from '../client'
import { openWorld, type World } from '../world/world'

/** Whoever sends the header is a user, with the membership in it. The administrator has none. */
const account: Rule = ({ context }) => {
  const membership = context.get('X-Membership')
  return membership === '' ? { id: null } : { id: 'account-1', admin: membership === 'none', membership }
}

const membershipOf = (me: Principal): string | undefined => {
  const { membership } = me as { readonly membership?: string }
  return membership === 'none' ? undefined : membership
}

@Entity()
class Membership {
  @PrimaryGeneratedColumn() id!: number
  @Column() company!: string
}

@Entity()
@Resource({ auth: account, ownerField: { field: 'member', is: membershipOf } })
class Shift {
  @PrimaryGeneratedColumn() id!: number
  @Column() text!: string
  @ManyToOne(() => Membership, { nullable: false }) member!: Membership
}

@Entity()
@Resource({ auth: account, exclude: ['member'], ownerField: { field: 'member', is: async () => 1 } as never })
class Later {
  @PrimaryGeneratedColumn() id!: number
  @ManyToOne(() => Membership, { nullable: false }) member!: Membership
}

const entities = [Membership, Shift, Later]

const seed = async (dataSource: World['dataSource']): Promise<void> => {
  await dataSource.getRepository(Membership).save([{ company: 'a' }, { company: 'b' }])
  await dataSource.getRepository(Shift).save([
    { text: 'first', member: { id: 1 } },
    { text: 'second', member: { id: 2 } },
  ])
}

describe('owners that are not users', () => {
  let world: World
  let strict: World
  beforeAll(async () => {
    world = await openWorld({ entities, seed })
    strict = await openWorld({ entities, seed, mount: { forbidden: 403 } })
  })
  afterAll(() => Promise.all([world.close(), strict.close()]))

  const as = (membership: string) => ({ 'X-Membership': membership })

  test('POST sets the owner to the key that the function returns, whatever the body says', async () => {
    const reply = await send(world.url, 'POST /api/shift/', { headers: as('2'), body: { text: 'x', member_id: 1 } })
    expect([reply.status, reply.json()]).toEqual([201, { id: 3, text: 'x', member_id: 2 }])
  })

  test.each([
    ['PUT by the owner', 'PUT /api/shift/1/', '1', 200],
    ['PUT by the owner that names another one', 'PUT /api/shift/1/', '1', 200],
    ['PUT by another owner', 'PUT /api/shift/2/', '1', 403],
    ['DELETE by another owner', 'DELETE /api/shift/2/', '1', 403],
    ['PUT by a principal without a key, who is an administrator', 'PUT /api/shift/2/', 'none', 401],
    ['POST by a principal without a key', 'POST /api/shift/', 'none', 401],
    ['DELETE by a principal without a key, of no record', 'DELETE /api/shift/99/', 'none', 401],
    ['an anonymous PUT', 'PUT /api/shift/1/', '', 401],
    ['GET by a principal without a key', 'GET /api/shift/2/', 'none', 200],
    ['OPTIONS by a principal without a key', 'OPTIONS /api/shift/2/', 'none', 204],
    ['an anonymous GET', 'GET /api/shift/2/', '', 200],
  ])('%s', async (_, line, membership, status) => {
    const body = /^P/.test(line) ? { text: 'changed', member_id: 2 } : undefined
    const reply = await send(world.url, line, { headers: as(membership), body })
    expect(reply.status).toBe(status)
    const owners = await send(world.url, 'GET /api/shift/?ordering=id&limit=2')
    expect(owners.json()).toMatchObject({ objects: [{ member_id: 1 }, { member_id: 2 }] })
  })

  test('with forbidden: 403, a user without a key gets 403, and an anonymous one 401', async () => {
    const body = { text: 'changed' }
    const known = await send(strict.url, 'PUT /api/shift/1/', { headers: as('none'), body })
    expect(known.json()).toMatchObject({ status: 403, type: 'urn:typeorm-resources:forbidden' })
    expect(await send(strict.url, 'PUT /api/shift/1/', { body })).toMatchObject({ status: 401 })
  })

  test.each([
    ['none', 'the option "ownerField" returns no owner for this user'],
    ['', 'writes need a user, because the resource has the option "ownerField"'],
  ])('the refusal of a write as "%s" has the reason', async (membership, reason) => {
    const events: unknown[] = []
    const add = (event: unknown): void => void events.push(event)
    subscribe('typeorm-resources:refusal', add)
    await send(world.url, 'DELETE /api/shift/1/', { headers: as(membership) })
    unsubscribe('typeorm-resources:refusal', add)
    expect(events).toMatchObject([{ status: 401, reason }])
  })

  test.each([
    ['a key of another type', 'PUT /api/shift/1/', 'x', '"ownerField.is" of shift returned "x", which is not a key'],
    ['a promise', 'POST /api/later/', '1', '"ownerField.is" of Later must not be async'],
  ])('%s is a fault', async (_, line, membership, message) => {
    const reply = await send(world.url, line, { headers: as(membership), body: { text: 'x' } })
    expect(reply.status).toBe(500)
    expect(String(world.faults.at(-1))).toContain(message)
  })

  test('the OpenAPI document does not name the owner, which clients compare with the user', async () => {
    const { components } = Object((await send(world.url, 'GET /api/openapi.json')).json())
    expect(components.schemas.shift).not.toHaveProperty('x-owner')
    expect(components.schemas['shift.create'].required).toEqual(['text'])
    expect(world.mounted.resources.find(({ name }) => name === 'shift')).toMatchObject({ owner: 'member_id' })
  })
})

test.each<[string, unknown, string]>([
  [
    'a column',
    { field: 'text', is: membershipOf },
    '"ownerField.field" must be a many-to-one relation to the key of an entity',
  ],
  ['no function', { field: 'member' }, '"ownerField" must be the name of a property, or { field, is }'],
  ['another member', { field: 'member', is: membershipOf, to: 1 }, '"ownerField" must be the name of a property, or'],
  ['null', null, '"ownerField" must be the name of a property, or { field, is }'],
])('%s in ownerField is reported at mount', async (_, ownerField, message) => {
  @Entity()
  class Shown {
    @PrimaryGeneratedColumn() id!: number
    @Column() text!: string
    @ManyToOne(() => Membership) member!: Membership
  }
  const resources = [{ entity: Shown, auth: readOnlyRule(), ownerField: ownerField as never }]
  await expect(openWorld({ entities: [Membership, Shown], mount: { resources } })).rejects.toThrow(message)
})
