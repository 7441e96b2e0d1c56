import {
  Column,
  type DataSource,
  Entity,
  JoinTable,
  ManyToMany,
  ManyToOne,
  OneToMany,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type Relation,
} from 'typeorm'
import { IdempotencyKey, Resource, type Rule } from 'typeorm-resources'
import { send } from '../client'
import { openWorld, type World } from '../world/world'

/** Access rules that run statements are called before the transaction of a write, in which the statements would wait. */

let database: DataSource
const querying: Rule = async () => {
  await database.getRepository(Tag).count()
  return { id: 1 }
}

@Entity()
@Resource({ auth: () => ({ id: 1 }), bulk: true, nested: ['lines', 'tags'] })
class Doc {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20, unique: true }) code!: string
  @OneToMany(
    () => Line,
    (line) => line.doc,
  )
  lines!: Relation<Line>[]
  @ManyToMany(() => Tag)
  @JoinTable()
  tags!: Relation<Tag>[]
  @ManyToOne(() => Tag) main!: Relation<Tag> | null
}

@Entity()
@Resource({ auth: querying })
class Line {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) text!: string
  @ManyToOne(
    () => Doc,
    (doc) => doc.lines,
    { nullable: false },
  )
  doc!: Relation<Doc>
  @ManyToOne(() => Tag) tag!: Relation<Tag> | null
}

@Entity()
@Resource({ auth: querying, scope: () => true, bulk: true })
class Tag {
  @PrimaryColumn({ length: 20 }) name!: string
}

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [Doc, Line, Tag, IdempotencyKey],
    // One connection: a statement of a rule within the transaction would wait for the end of it.
    source: {
      poolSize: 1,
    } as object,
    mount: { batch: true, waitLimit: 1000 },
    seed: async (dataSource) => {
      database = dataSource
      await dataSource.getRepository(Tag).insert({ name: 'a' })
    },
  })
})
afterAll(() => world.close())

const lines = [{ text: 'x', tag_id: 'a' }]
const csv = { 'Content-Type': 'text/csv' }
const ndjson = { 'Content-Type': 'application/x-ndjson' }

type Write = readonly [line: string, body: unknown, headers?: Readonly<Record<string, string>>]

const writes: readonly Write[] = [
  ['POST doc/', { code: 'a', lines, tag_ids: ['a'], main_id: 'a' }],
  ['POST doc/?on_conflict=code', { code: 'a', lines, tag_ids: ['a'] }],
  ['POST doc/', [{ code: 'b', main_id: 'a' }]],
  ['POST doc/?on_conflict=code', [{ code: 'b', lines, tag_ids: ['a'] }]],
  ['POST doc/', 'code,main_id\nc,a\n', csv],
  ['POST doc/?on_conflict=code', `${JSON.stringify({ code: 'c', lines })}\n`, ndjson],
  ['PATCH doc/ID/', { lines, tag_ids: ['a'] }],
  ['PATCH doc/ID/', { tag_ids: [] }],
  ['POST doc/?on_conflict=code', [{ code: 'z', tag_ids: [] }]],
  ['PATCH doc/?main__name=a', { main_id: 'a' }],
  ['PUT doc/ID/', { lines: [] }],
  ['POST tag/?on_conflict=name', { name: 'b' }],
  ['PUT tag/c/', {}, { 'If-None-Match': '*' }],
]

describe.each(['alone', 'with a key', 'in a batch'])('a write %s', (way) => {
  let id: number
  beforeEach(async () => {
    for (const table of ['idempotency_key', 'line', 'doc_tags_tag', 'doc']) await world.sql(`DELETE FROM "${table}"`)
    await world.sql('DELETE FROM "tag" WHERE "name" <> \'a\'')
    ;({ id } = await database.getRepository(Doc).save({ code: 'z' }))
  })

  // A batch has no imports.
  const ofWay = writes.filter(([, body]) => way !== 'in a batch' || typeof body !== 'string')
  for (const [template, body, headers = {}] of ofWay)
    test(`${template} ${JSON.stringify(body)}`, async () => {
      const line = template.replace('ID', String(id)).replace(' ', ' /api/')
      const [method = '', path = ''] = line.split(' ')
      const reply =
        way === 'in a batch'
          ? await send(world.url, 'POST /api/-/batch', { body: [{ method, path, body, headers }] })
          : await send(world.url, line, {
              body,
              headers: { ...headers, ...(way === 'with a key' && { 'Idempotency-Key': 'k' }) },
            })
      expect([reply.status < 300, reply.text]).toEqual([true, reply.text])
    })
})
