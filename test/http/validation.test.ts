import { IsEmail, IsOptional, Max, MinLength, Validate, ValidateNested, ValidatorConstraint } from 'class-validator'
import { Column, Entity, ManyToOne, PrimaryGeneratedColumn } from 'typeorm'
import { Resource, UserAccount, verifyPassword } from 'typeorm-resources'
import { apiOf } from '../client'
import { permitAllAsUser1 } from '../support/access'
import { openWorld, type World } from '../world/world'

@ValidatorConstraint({ name: 'order' })
class IsBeforeEnd {
  validate(start: number, { object }: { object: object }): boolean {
    return start < (object as Stay).end
  }

  defaultMessage(): string {
    return 'must be before end'
  }
}

class Address {
  @Column({ default: '' }) @MinLength(2) town!: string
}

@Entity()
@Resource({ auth: permitAllAsUser1, exclude: ['email'] })
@UserAccount({ password: 'password' })
class Guest {
  @PrimaryGeneratedColumn() id!: number
  @Column() @MinLength(3) username!: string
  @Column() @MinLength(8, { message: 'must have 8 characters at least' }) password!: string
  @Column({ type: 'varchar', nullable: true }) @IsOptional() @IsEmail() email!: string | null
  @Column(() => Address) @ValidateNested() address!: Address
}

@Entity()
@Resource({ auth: permitAllAsUser1 })
class Stay {
  @PrimaryGeneratedColumn() id!: number
  @Column() @Validate(IsBeforeEnd) start!: number
  @Column() @Max(365) end!: number
  @ManyToOne(() => Guest, { nullable: true }) @IsOptional() @ValidateNested() guest!: Guest | null
}

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Guest, Stay] })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

const { post, put } = apiOf(() => world.url)
type Problem = { status: number; errors: readonly object[] }

test('POST reports the errors of class-validator together with the other errors', async () => {
  const body = { username: 'x', password: 'short', email: 'none', address: { town: '?' }, nope: 1 }
  const { status, errors } = (await post('guest', body)).json() as Problem
  expect([status, errors]).toEqual([
    400,
    expect.arrayContaining([
      { field: 'nope', message: expect.any(String) },
      { field: 'username', message: 'must be longer than or equal to 3 characters' },
      { field: 'password', message: 'must have 8 characters at least' },
      { field: 'email', message: 'must be an email' },
      { field: 'address__town', message: 'must be longer than or equal to 2 characters' },
    ]),
  ])
  expect(errors).toHaveLength(5)
})

test('a valid record is stored; the password is validated before it is hashed', async () => {
  const made = await post('guest', { username: 'ann', password: 'long enough', address: { town: 'Rome' } })
  expect([made.status, made.json()]).toEqual([201, { id: 1, username: 'ann', address: { town: 'Rome' } }])
  const [row] = await world.sql('SELECT "password" FROM "guest"')
  expect(await verifyPassword('long enough', String(row?.['password']))).toBe(true)
})

test('PUT validates the record with the changes', async () => {
  expect((await put('guest/1', { username: 'y' })).json()).toMatchObject({
    status: 400,
    errors: [{ field: 'username' }],
  })
  expect((await put('guest/1', { password: 'short' })).json()).toMatchObject({ errors: [{ field: 'password' }] })
  expect((await put('guest/1', { username: 'bea' })).status).toBe(200)
  await post('stay', { start: 1, end: 5, guest_id: 1 })
  expect((await put('stay/1', { end: 1 })).json()).toMatchObject({
    status: 400,
    errors: [{ field: 'start', message: 'must be before end' }],
  })
  expect((await put('stay/1', { start: 2, guest_id: 1 })).json()).toMatchObject({ start: 2, guest_id: 1 })
  expect((await post('stay', { start: 1, end: 500 })).json()).toMatchObject({
    errors: [{ field: 'end', message: 'must not be greater than 365' }],
  })
})

test('an invalid stored value does not prevent a change of other fields', async () => {
  await world.sql('UPDATE "stay" SET "end" = 400')
  const record = { id: 1, start: 2, end: 400, guest_id: 1 }
  expect((await put('stay/1', record)).json()).toEqual(record)
  expect((await put('stay/1', { start: 3 })).json()).toEqual({ ...record, start: 3 })
  expect((await put('stay/1', { end: 401 })).json()).toMatchObject({ errors: [{ field: 'end' }] })
})

test('an invalid hidden value does not prevent a change, and is not reported', async () => {
  await world.sql(`UPDATE "guest" SET "email" = 'canary'`)
  const reply = await put('guest/1', { username: 'cleo' })
  expect([reply.status, reply.text]).toEqual([200, expect.not.stringContaining('email')])
})
