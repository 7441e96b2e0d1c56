import {
  Check,
  ChildEntity,
  Column,
  DeleteDateColumn,
  Entity,
  EntitySchema,
  JoinColumn,
  ManyToOne,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  TableInheritance,
} from 'typeorm'
import { Resource, UserAccount, verifyPassword } from 'typeorm-resources'
import { apiOf, send } from '../client'
import { permitAllAsUser1 } from '../support/access'
import { isMariadb, isPostgres } from '../world/leg'
import { openWorld, type World } from '../world/world'

@Entity()
@Resource({ auth: permitAllAsUser1 })
class Big {
  @PrimaryColumn({ type: 'bigint' }) id!: string
  @Column() text!: string
}

@Entity()
@Resource({ auth: permitAllAsUser1 })
class Lazy {
  @PrimaryGeneratedColumn() id!: number
  @Column() text!: string
  @ManyToOne(() => Lazy, { nullable: true }) up!: Promise<Lazy | null>
  @ManyToOne(() => Lazy, { nullable: true, createForeignKeyConstraints: false }) loose!: Lazy | null
  @ManyToOne(() => Gone, { nullable: true }) gone!: Gone | null
}

@Entity()
@Resource({ auth: permitAllAsUser1 })
class Gone {
  @PrimaryGeneratedColumn() id!: number
  @DeleteDateColumn() deleted!: Date | null
}

@Entity()
@Resource({ auth: permitAllAsUser1 })
@UserAccount()
@TableInheritance({ column: 'kind' })
class Person {
  @PrimaryGeneratedColumn() id!: number
  @Column() kind!: string
  @Column() username!: string
  @Column() password!: string
}

@ChildEntity()
@Resource({ auth: permitAllAsUser1, exclude: ['pin'] })
class Staff extends Person {
  @Column({ nullable: true, type: 'varchar' }) pin!: string | null
  @Column({ default: 1 }) desk!: number
  @ManyToOne(() => Staff, { nullable: true }) boss!: Staff | null
}

@Entity()
@Resource({ auth: permitAllAsUser1 })
class Natural {
  @PrimaryColumn() key!: string
  @Column({ length: 5 }) label!: string
  @Column() note: string = null as unknown as string
}

@Entity()
@Resource({ auth: permitAllAsUser1 })
class Numbered {
  @PrimaryColumn() id!: number
}

@Entity()
@Check('rated', 'stars BETWEEN 1 AND 5')
@Check('sealed', 'seal <> 0')
@Resource({ auth: permitAllAsUser1, exclude: ['seal'] })
class Rated {
  @PrimaryGeneratedColumn() id!: number
  @Column() stars!: number
  @Column({ default: 1 }) seal!: number
}

@Entity()
@Resource({ auth: permitAllAsUser1 })
class Zone {
  @PrimaryGeneratedColumn() id!: number
  @Column({ unique: true }) code!: string
}

@Entity()
@Resource({ auth: permitAllAsUser1 })
class Place {
  @PrimaryGeneratedColumn() id!: number
  @ManyToOne(() => Zone) @JoinColumn({ referencedColumnName: 'code' }) zone!: Zone | null
}

/** Decorated through calls of `Resource` as a standard decorator, which TypeORM's own decorators do not support. */
class Standard {
  id!: number
  text!: string
  hidden!: string
}
Resource({ auth: permitAllAsUser1, exclude: ['hidden'] })(Standard, { kind: 'class' } as ClassDecoratorContext)
const StandardSchema = new EntitySchema<Standard>({
  name: 'Standard',
  target: Standard,
  columns: {
    id: { type: 'integer', primary: true, generated: true },
    text: { type: 'varchar' },
    hidden: { type: 'varchar', default: 'canary' },
  },
})

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [Big, Lazy, Gone, Person, Staff, Natural, Numbered, Zone, Place, Rated, StandardSchema],
  })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

const { get, post, put } = apiOf(() => world.url)

test('Values in JSON: keys that exceed a double are distinguished', async () => {
  for (const id of ['9007199254740992', '9007199254740993']) await post('big', { id, text: id })
  const { objects } = (await get('big/')).json() as { objects: object[] }
  expect(objects).toEqual([
    { id: '9007199254740992', text: '9007199254740992' },
    { id: '9007199254740993', text: '9007199254740993' },
  ])
  expect((await put('big/9007199254740993', { text: 'odd' })).json()).toEqual({ id: '9007199254740993', text: 'odd' })
  expect((await get('big/9007199254740992/')).json()).toMatchObject({ text: '9007199254740992' })
})

test('Foreign keys: lazy relations, relations without a constraint and references to soft-deleted records are checked', async () => {
  expect((await post('lazy', { text: 'a' })).json()).toEqual({
    id: 1,
    text: 'a',
    up_id: null,
    loose_id: null,
    gone_id: null,
  })
  expect((await post('lazy', { text: 'b', up_id: 1, loose_id: 1 })).json()).toMatchObject({ up_id: 1, loose_id: 1 })
  await post('gone', {})
  expect((await post('lazy', { text: 'c', gone_id: 1 })).status).toBe(201)
  await send(world.url, 'DELETE /api/gone/1/')
  for (const [field, id] of [
    ['up_id', 99],
    ['loose_id', 99],
    ['gone_id', 1],
  ] as const) {
    const answer = { status: 400, errors: [{ field, message: expect.stringContaining('points to no') }] }
    expect((await post('lazy', { text: 'd', [field]: id })).json()).toMatchObject(answer)
    expect((await put('lazy/1', { [field]: id })).json()).toMatchObject(answer)
  }
})

test('Hidden fields, Users: single-table inheritance: the password of a child entity is hashed, and the parent does not show fields of the child', async () => {
  const made = await post('staff', { username: 'sue', password: 'plain', pin: '1234' })
  expect([made.status, made.json()]).toEqual([201, { id: 1, kind: 'Staff', username: 'sue', desk: 1, boss_id: null }])
  const [row] = await world.sql('SELECT "password", "pin" FROM "person" WHERE "id" = 1')
  expect(await verifyPassword('plain', String(row?.['password']))).toBe(true)
  expect(row?.['pin']).toBe('1234')
  expect((await get('person/')).json()).toMatchObject({ objects: [{ id: 1, kind: 'Staff', username: 'sue' }] })
  for (const query of ['person/?pin=1234', 'person/?desk=1', 'staff/?pin=1234', 'staff/?password__is=null']) {
    expect((await get(query)).status).toBe(400)
  }
  expect((await put('staff/1', { kind: 'Person' })).status).toBe(400)
  await post('person', { username: 'tom', password: 'x' })
  const wrong = { status: 400, detail: 'boss_id points to no staff' }
  expect((await post('staff', { username: 'x', password: 'x', boss_id: 2 })).json()).toMatchObject(wrong)
  expect((await put('staff/1', { boss_id: 2 })).json()).toMatchObject(wrong)
  await world.sql('UPDATE "person" SET "bossId" = 2 WHERE "id" = 1')
  expect((await get('staff/?boss__username=tom')).json()).toMatchObject({ objects: [] })
  await put('staff/1', { boss_id: 1 })
  expect((await get('staff/?boss__username=sue')).json()).toMatchObject({ objects: [{ id: 1 }] })
  expect((await get('staff/2/')).status).toBe(404)
  expect((await put('staff/2', { username: 'x' })).status).toBe(404)
})

test.each(['', '.', '..'])('a key that cannot be part of a path is refused: %j', async (key) => {
  expect((await post('natural', { key, label: 'x', note: 'x' })).json()).toMatchObject({
    status: 400,
    errors: [{ field: 'key' }],
  })
})

test.each([0, -5])('a number that cannot be part of a path is refused: %i', async (id) => {
  expect((await post('numbered', { id })).status).toBe(400)
})

test.each(['a/b', '%2F', 'é ü', 'a?b#c', '...', '%2e'])(
  'any other text can be a key, and Location leads to its record: %j',
  async (key) => {
    const made = await post('natural', { key, label: 'x', note: 'x' })
    expect([made.status, made.json()]).toEqual([201, { id: key, key, label: 'x', note: 'x' }])
    const path = made.headers.location?.replace('/api/', '') ?? ''
    expect((await get(path)).json()).toEqual(made.json())
    const again = (await post('natural', { key, label: 'x', note: 'x' })).json()
    expect(again).toMatchObject({ status: 409, errors: [{ field: 'key' }], detail: 'another natural has the same key' })
    expect((await send(world.url, `DELETE /api/${path}`)).status).toBe(204)
  },
)

test('Required fields: a class default of null is not a default', async () => {
  expect((await post('natural', { key: 'k', label: 'x' })).json()).toMatchObject({
    errors: [{ field: 'note', message: 'is required' }],
  })
})

test('Sending back what was read: a stored value that is now invalid can be sent back', async () => {
  // SQLite does not check the length.
  if (isPostgres) await world.sql('ALTER TABLE "natural" ALTER COLUMN "label" TYPE varchar(50)')
  if (isMariadb) await world.sql('ALTER TABLE "natural" MODIFY "label" varchar(50) NOT NULL')
  await world.sql(`INSERT INTO "natural" ("key", "label", "note") VALUES ('old', 'longer than five', 'x')`)
  const record = (await get('natural/old/')).json() as object
  expect((await put('natural/old', record)).json()).toEqual(record)
  expect((await put('natural/old', { label: 'longer than six' })).status).toBe(400)
})

const triggers = isPostgres
  ? [
      `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'canary'; END $$`,
      `CREATE TRIGGER "no" BEFORE DELETE ON "natural" FOR EACH ROW WHEN (OLD."key" = 'old') EXECUTE FUNCTION refuse()`,
    ]
  : isMariadb
    ? [
        `CREATE TRIGGER "no" BEFORE DELETE ON "natural" FOR EACH ROW
         IF OLD."key" = 'old' THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'canary'; END IF`,
      ]
    : [`CREATE TRIGGER "no" BEFORE DELETE ON "natural" WHEN OLD."key" = 'old' BEGIN SELECT RAISE(ABORT, 'canary'); END`]

test('an error of a trigger is a refusal that does not show the message of the trigger', async () => {
  for (const sql of triggers) await world.sql(sql)
  const reply = await send(world.url, 'DELETE /api/natural/old/')
  expect([reply.status, reply.text]).toEqual([409, expect.not.stringContaining('canary')])
})

test('a foreign key can refer to another column than the key, which cannot be changed while it is used', async () => {
  await post('zone', { code: 'A' })
  expect((await post('place', { zone_id: 'A' })).json()).toEqual({ id: 1, zone_id: 'A' })
  expect((await post('place', { zone_id: 'B' })).json()).toMatchObject({ errors: [{ field: 'zone_id' }] })
  expect((await get('place/?zone__code=A&zone=A')).json()).toMatchObject({ objects: [{ id: 1 }] })
  const reply = await put('zone/1', { code: 'B' })
  expect([reply.status, reply.text]).toEqual([
    409,
    expect.stringContaining('other records refer to values of this zone'),
  ])
})

test('limits: a ninth join is refused', async () => {
  const paths = ['up', 'loose', 'gone', 'up__up', 'up__loose', 'up__gone', 'loose__up', 'loose__loose']
  const filters = paths.map((path) => `${path}__id=1`).join('&')
  expect((await get(`lazy/?${filters}`)).status).toBe(200)
  const reply = await get(`lazy/?${filters}&loose__gone__id=1`)
  expect([reply.status, reply.text]).toEqual([400, expect.stringContaining('more tables than the 8 allowed')])
})

test('@Resource can be called as a standard decorator', async () => {
  expect((await post('standard', { text: 'x' })).json()).toEqual({ id: 1, text: 'x' })
})

test('Order of checks: a violated CHECK names its fields, unless one of them is hidden', async () => {
  // TypeORM creates no CHECK constraints on MariaDB.
  if (isMariadb) {
    await world.sql('ALTER TABLE "rated" ADD CONSTRAINT "rated" CHECK (stars BETWEEN 1 AND 5)')
    await world.sql('ALTER TABLE "rated" ADD CONSTRAINT "sealed" CHECK (seal <> 0)')
  }
  expect((await post('rated', { stars: 5 })).status).toBe(201)
  const shown = {
    status: 400,
    detail: 'the database does not accept the value of stars',
    errors: [{ field: 'stars' }],
  }
  expect((await post('rated', { stars: 9 })).json()).toMatchObject(shown)
  expect((await put('rated/1', { stars: 0 })).json()).toMatchObject(shown)
  const hidden = (await post('rated', { stars: 1, seal: 0 })).json()
  expect(hidden).toMatchObject({ status: 400, detail: 'the database does not accept these values for a rated' })
  expect(hidden).not.toHaveProperty('errors')
})

test('Error documents: invalid foreign keys are reported together, with and without a constraint', async () => {
  const { errors } = (await post('lazy', { text: 'x', up_id: 98, loose_id: 99 })).json() as {
    errors: { field: string }[]
  }
  expect(errors.map(({ field }) => field).toSorted()).toEqual(['loose_id', 'up_id'])
})
