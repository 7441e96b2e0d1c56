import { Column, Entity, JoinTable, ManyToMany, PrimaryColumn, PrimaryGeneratedColumn, type Relation } from 'typeorm'
import { Resource, type Rule } from 'typeorm-resources'
import { send } from '../client'
import { isMariadb, isPostgres } from '../world/leg'
import { openWorld, type World } from '../world/world'

/** Writes that must not evade the access rule, a route of the application or a rule of the database. */

const seen: string[] = []
const auth: Rule = ({ context }) => {
  seen.push(context.URL.pathname)
  return { id: 1 }
}
/** Permits to write, but not to read. */
const writesOnly: Rule = ({ reads }) => (reads ? null : { id: 1 })

@Entity()
@Resource({ auth: writesOnly, bulk: true })
class Entry {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) text!: string
}

@Entity()
@Resource({ auth })
class Setting {
  @PrimaryColumn({ length: 20 }) name!: string
  @Column({ length: 20 }) value!: string
}

@Entity()
@Resource({ auth, nested: ['tags'] })
class Article {
  @PrimaryGeneratedColumn() id!: number
  @ManyToMany(() => Tag) @JoinTable({ name: 'article_tag' }) tags!: Relation<Tag>[]
}

@Entity()
@Resource({ auth })
class Tag {
  @PrimaryGeneratedColumn() id!: number
  @Column({ default: 'x', length: 20 }) title!: string
}

/** Statements that create a trigger, which refuses links to the tag 3. */
const refuseTag = isPostgres
  ? [
      "CREATE FUNCTION refuse_tag() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.\"tagId\" = 3 THEN RAISE EXCEPTION 'not this tag' USING ERRCODE = '23514'; END IF; RETURN NEW; END $$",
      'CREATE TRIGGER refuse_tag BEFORE INSERT ON article_tag FOR EACH ROW EXECUTE FUNCTION refuse_tag()',
    ]
  : isMariadb
    ? [
        "CREATE TRIGGER refuse_tag BEFORE INSERT ON article_tag FOR EACH ROW IF NEW.tagId = 3 THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'not this tag'; END IF",
      ]
    : [
        "CREATE TRIGGER refuse_tag BEFORE INSERT ON article_tag WHEN NEW.tagId = 3 BEGIN SELECT RAISE(ABORT, 'not this tag'); END",
      ]

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [Entry, Setting, Article, Tag],
    columnOrder: 0,
    mount: { batch: true },
    before: (app) =>
      app.use((context, next) => {
        // Koa keeps the parsed URL.
        void context.URL
        return next()
      }),
    seed: async (dataSource) => {
      await dataSource.getRepository(Entry).insert([{ text: 'secret-7' }, { text: 'other' }])
      await dataSource.getRepository(Setting).insert({ name: 'main', value: 'v' })
      await dataSource.getRepository(Tag).insert([{}, {}, {}])
      for (const statement of refuseTag) await dataSource.query(statement)
    },
  })
  world.mounted.router('setting').patch('/main/', (context) => {
    context.status = 403
    context.body = 'refused by the route'
  })
})
afterAll(() => world.close())
const ask = (line: string, body?: unknown) => send(world.url, line.replace(' ', ' /api/'), { body })

test.each([
  ['DELETE', 'DELETE entry/?text__like=secret-6%25', undefined],
  ['DELETE', 'DELETE entry/?text__like=secret-7%25', undefined],
  ['PATCH', 'PATCH entry/?text__like=secret-7%25', { text: 'x' }],
])('%s with filters requires the permission to read: %s', async (_, line, body) => {
  const reply = await ask(line, body)
  expect([reply.status, reply.json()]).toMatchObject([
    403,
    { detail: 'you may not read entry, so you cannot select its records by filters' },
  ])
  expect(await world.sql('SELECT "text" FROM "entry" ORDER BY "id"')).toEqual([{ text: 'secret-7' }, { text: 'other' }])
})

test.each(['main', 'm%61in', '%6D%61%69%6E'])('a route responds to each spelling of its path: %s', async (segment) => {
  const direct = await ask(`PATCH setting/${segment}/`, { value: 'x' })
  expect([direct.status, direct.text]).toEqual([403, 'refused by the route'])
  const operation = { method: 'PATCH', path: `/api/setting/${segment}/`, body: { value: 'x' } }
  expect((await ask('POST -/batch', [operation])).status).toBe(400)
  expect((await ask('GET setting/main/')).json()).toMatchObject({ value: 'v' })
})

test('the access rule of an operation sees the URL of the operation', async () => {
  seen.splice(0)
  await ask('POST -/batch', [{ method: 'PATCH', path: '/api/tag/1/', body: { title: 'y' } }])
  expect(new Set(seen)).toEqual(new Set(['/api/tag/1/']))
})

test('a link that the database refuses is 400, without further attempts', async () => {
  expect((await ask('POST article/', { tag_ids: [1] })).status).toBe(201)
  world.statements()
  expect((await ask('PATCH article/1/', { tag_ids: [1, 3] })).status).toBe(400)
  expect(world.statements().filter((sql) => /INSERT INTO \S*article_tag/.test(sql))).toHaveLength(1)
  expect(await world.sql('SELECT "tagId" FROM "article_tag"')).toEqual([{ tagId: 1 }])
})
