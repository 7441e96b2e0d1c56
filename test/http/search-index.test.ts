import { setTimeout } from 'node:timers/promises'
import Koa from 'koa'
import {
  Column,
  type DataSource,
  Entity,
  ManyToOne,
  OneToMany,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type Relation,
} from 'typeorm'
import { type IndexedSearch, mountResources, Resource, type Rule } from 'typeorm-resources'
import { send } from '../client'
import { permitAll } from '../support/access'
import { createSearchIndex } from '../support/search-index'
import { isMariadb, isPostgres, isSqlite } from '../world/leg'
import { openDataSource, openWorld, type World } from '../world/world'

/** The option `search` with a text search index. */

/** The principal that the header `x-person` names. */
const byHeader: Rule = ({ context }) => ({ id: Number(context.get('x-person') || 0) })
const isFirst = ({ id }: { readonly id?: unknown }): boolean => id === 1

@Entity('article')
@Resource({
  auth: byHeader,
  scope: (me) => (me.id === 2 ? { id__lt: 3 } : true),
  search: { fields: ['title', 'body'], index: 'article_search' },
  aggregate: true,
})
class Article {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 100 }) title!: string
  @Column({ type: 'text', nullable: true }) body!: string | null
  @Column({ length: 20, default: 'unsearched', name: '_rowid_' }) other!: string
  @OneToMany(
    () => Memo,
    (memo) => memo.article,
  )
  memos!: Relation<Memo>[]
}

@Entity('memo')
@Resource({
  auth: byHeader,
  fields: { secret: { read: isFirst } },
  search: { fields: ['text', 'secret'], index: 'memo_search' },
})
class Memo {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 100 }) text!: string
  @Column({ length: 100 }) secret!: string
  @ManyToOne(
    () => Article,
    (article) => article.memos,
  )
  article!: Relation<Article>
}

/** Has a key of several columns, which an FTS5 table cannot refer to. */
@Entity('seat')
@Resource({ auth: byHeader, search: isSqlite ? ['label'] : { fields: ['label'], index: 'seat_search' } })
class Seat {
  @PrimaryColumn('int') hall!: number
  @PrimaryColumn('int') place!: number
  @Column({ length: 40 }) label!: string
}

const articles = [
  { title: 'Login fails', body: 'Error 500 at once' },
  { title: 'Logout works', body: null },
  { title: "Don't x-ray ann@mail.example", body: 'ÉCOLE 日本語 login' },
  { title: '100% done_now', body: 'a "quoted" back\\slash login erroneous www.example.com' },
]

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [Article, Memo, Seat],
    mount: { limits: { patternCost: 32, allPatterns: 1024 } },
    seed: async (dataSource) => {
      await createSearchIndex(dataSource, 'article', 'article_search', ['title', 'body'])
      await createSearchIndex(dataSource, 'memo', 'memo_search', ['text', 'secret'])
      if (!isSqlite) await createSearchIndex(dataSource, 'seat', 'seat_search', ['label'])
      await dataSource.getRepository(Seat).save([
        { hall: 1, place: 1, label: 'window front' },
        { hall: 1, place: 2, label: 'window back' },
      ])
      await dataSource.getRepository(Article).save(articles.map((article) => ({ ...article })))
      await dataSource.getRepository(Memo).save([
        { text: 'Public login', secret: 'swordfish', article: { id: 1 } },
        { text: 'Other', secret: 'login', article: { id: 1 } },
      ])
    },
  })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

async function idsOf(path: string, person = 1): Promise<readonly unknown[]> {
  const { status, text, json } = await send(world.url, `GET /api/${path}`, { headers: { 'x-person': `${person}` } })
  expect([path, status, text]).toEqual([path, 200, expect.anything()])
  return (json() as { objects: readonly { id: unknown }[] }).objects.map(({ id }) => id)
}

test.each<readonly [string, readonly number[]]>([
  ['login', [1, 3, 4]],
  ['LOGIN', [1, 3, 4]],
  ['log', [1, 2, 3, 4]],
  ['login error', [1]],
  ['login erro', [1, 4]],
  ['error login 500', [1]],
  ['logout error', []],
  ['ogin', []],
  ["don't", [3]],
  ['x-ray', [3]],
  ['mail.example', isPostgres ? [] : [3]],
  // In MySQL and MariaDB, `www` and `com` are stop words.
  ['www.example.com', isMariadb ? [3, 4] : [4]],
  ['ann@mail.exam', [3]],
  ['école', [3]],
  ['日本', [3]],
  ['"quoted"', [4]],
  ['done_n', [4]],
  ['login -', [1, 3, 4]],
  ['---', []],
  ['  ', [1, 2, 3, 4]],
  // Each record with `login` also has words that begin with `log`.
  ['log login', [1, 3, 4]],
  ['login log logi', [1, 3, 4]],
  ['unsearched', []],
])('search=%s finds the articles %j', async (search, ids) => {
  expect(await idsOf(`article/?search=${encodeURIComponent(search)}`)).toEqual(ids)
})

test.each([
  ...['+', '-', '<', '>', '(', ')', '~', '*', '"', '@', '&', '|', '!', ':', "'", '\\', '^', '{', '}', '%', '_', ';'],
  ...['""', "''", '"a', "a'", "'a", 'a\\', 'a"b"c', '*a*', 'a*', '+a -b', 'a <-> b', 'a & | b', '!a', 'a:*', 'a:b'],
  ...['AND', 'a AND', 'NOT a', 'NEAR(a b)', '{title}:a', 'other:unsearched', '^a', '(a', 'a)', '@3', '"a b" @8', '>a'],
  ...[
    '%',
    '\u0001',
    'a\u007fb',
    '😀',
    '\u0301',
    'a\u0301',
    '語'.repeat(80),
    'é'.repeat(250),
    '\u2028',
    "O'Neill's'",
    "'''",
  ],
  ...['; DROP TABLE article', "') OR 1=1 --", '\u202e', '\ufffd', '-- ', '/*', '$1', '?', ':name', '\\'.repeat(99)],
])('search=%j is never a syntax error', async (search) => {
  await idsOf(`article/?search=${encodeURIComponent(search)}`)
  await idsOf(`article/?search=${encodeURIComponent(`login ${search}`)}`)
})

test('a search with NUL is answered', async () => {
  const { status } = await send(world.url, 'GET /api/article/?search=a%00b', {})
  expect([200, 400]).toContain(status)
})

test('limits of words and patterns apply', async () => {
  const refusal = async (search: string): Promise<unknown> => {
    const { status, json } = await send(world.url, `GET /api/article/?search=${search}`)
    return [status, (json() as { detail: string }).detail]
  }
  const words = Array.from({ length: 200 }, (_, index) => `w${index}`).join('+')
  expect(await refusal(words)).toEqual([400, 'search may have at most 32 words, this has 200'])
  const parts = [1, 2].map((length) => `x${'-y'.repeat(16 * length - 1)}`)
  expect(await refusal(`${parts[0]}+z_${parts[0]}`)).toEqual([
    400,
    expect.stringMatching(/^search may have at most 32 words; each part of a word such as "x-ray" counts/),
  ])
  expect(await refusal(parts[1] ?? '')).toEqual([200, undefined])
  expect(await refusal('a'.repeat(257))).toEqual([400, 'search takes words of at most 256 characters, one has 257'])
  const long = Array.from({ length: 5 }, (_, index) => `${index}${'a'.repeat(250)}`).join('+')
  expect(await refusal(long)).toEqual([400, expect.stringContaining('at most 1024 characters')])
})

test('filters, the row scope, counts, groups, and pages apply to a search', async () => {
  expect(await idsOf('article/?search=login&id__gt=1')).toEqual([3, 4])
  expect(await idsOf('article/?search=login&not=(id:4)&ordering=-id&limit=1')).toEqual([3])
  expect(await idsOf('article/?search=login', 2)).toEqual([1])
  expect(await idsOf('article/?search=login&after=&ordering=-title')).toEqual([1, 3, 4])
  const get = async (query: string) => (await send(world.url, `GET /api/article/?${query}`)).json()
  expect(await get('search=login&count=exact&limit=0')).toMatchObject({ meta: { total: 3 } })
  expect(await get('search=login&aggregate=count')).toMatchObject({ objects: [{ count: 3 }] })
})

test('long words are found; SQLite compares their first 64 characters', async () => {
  const word = 'long'.repeat(17)
  const titles = [word, `${word}er`, word.slice(0, -1), word.slice(0, 63)]
  const ids: number[] = []
  for (const title of titles) {
    const { json } = await send(world.url, 'POST /api/article/', { body: { title, body: null } })
    ids.push((json() as { id: number }).id)
  }
  const count = isSqlite ? 3 : 2
  expect(await idsOf(`article/?search=${word}`)).toEqual(ids.slice(0, count))
  for (const id of ids) await send(world.url, `DELETE /api/article/${id}/`)
})

test('records with a key of several columns are searched', async () => {
  expect(await idsOf('seat/?search=window')).toEqual(['1,1', '1,2'])
  expect(await idsOf('seat/?search=window+back')).toEqual(['1,2'])
})

test('included records are searched', async () => {
  const { json } = await send(world.url, 'GET /api/article/1/?include=memos(search:swordfish,fields:id)', {
    headers: { 'x-person': '1' },
  })
  expect(json()).toMatchObject({ memos: [{ id: 1 }] })
})

test('changed records are found by their new words', async () => {
  const { json } = await send(world.url, 'POST /api/article/', { body: { title: 'Fresh', body: null } })
  const { id } = json() as { id: number }
  expect(await idsOf('article/?search=fresh')).toEqual([id])
  await send(world.url, `PATCH /api/article/${id}/`, { body: { title: 'Stale' } })
  expect([await idsOf('article/?search=fresh'), await idsOf('article/?search=stale')]).toEqual([[], [id]])
  await send(world.url, `DELETE /api/article/${id}/`)
  expect(await idsOf('article/?search=stale')).toEqual([])
})

test('the index is not used for a principal who may not read all of its fields', async () => {
  expect(await idsOf('memo/?search=login', 1)).toEqual([1, 2])
  expect(await idsOf('memo/?search=login', 2)).toEqual([1])
  expect(await idsOf('memo/?search=swordfish', 2)).toEqual([])
  // Patterns find parts of words.
  expect([await idsOf('memo/?search=ogin', 1), await idsOf('memo/?search=ogin', 2)]).toEqual([[], [1]])
})

describe('with many records', () => {
  const count = 20_000
  let many: World
  beforeAll(async () => {
    many = await openWorld({
      entities: [Article, Memo],
      seed: async (dataSource) => {
        await createSearchIndex(dataSource, 'article', 'article_search', ['title', 'body'])
        for (let start = 0; start < count; start += 1000) {
          const rows = Array.from({ length: 1000 }, (_, index) => ({
            title: `word${start + index}`,
            body: 'common text',
          }))
          await dataSource.createQueryBuilder().insert().into(Article).values(rows).updateEntity(false).execute()
        }
        if (!isMariadb) await dataSource.query('ANALYZE')
      },
    })
  })
  afterAll(() => many.close())

  test('the plan of a search uses the index', async () => {
    many.statements()
    const { json } = await send(many.url, 'GET /api/article/?search=word1234')
    expect(json()).toMatchObject({ objects: [{ title: 'word1234' }, ...Array(10).fill(expect.anything())] })
    const isQuery = /(to_tsquery\('simple', |AGAINST \(|MATCH )(\$\d+|\?)/
    const [sql = ''] = many.statements().filter((one) => isQuery.test(one))
    const query = isPostgres ? `'''word1234'':*'` : isMariadb ? `'+word1234*'` : `'{"title" "body"} : ("word1234"*)'`
    const literal = sql.replace(isQuery, (_, before) => `${before}${query}`).replace(/\$\d+|\?/g, '20')
    const plan = await many.dataSource.query(`${isSqlite ? 'EXPLAIN QUERY PLAN' : 'EXPLAIN'} ${literal}`)
    const index = isPostgres
      ? 'Index Scan on article_search'
      : isMariadb
        ? '"fulltext"'
        : 'SCAN article_search VIRTUAL TABLE'
    expect(JSON.stringify(plan)).toContain(index)
  })
})

@Entity('page')
class Page {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) title!: string
  @Column({ length: 20 }) text!: string
  @Column({ length: 20 }) secret!: string
  @Column({ length: 20, transformer: { from: String, to: String } }) coded!: string
  @ManyToOne(() => Page) parent!: Relation<Page> | null
}

const found = { fields: ['title'], index: 'page_search' } as const
const mistakes: readonly (readonly [object, string])[] = [
  [{ ...found, fields: [] }, '"search" must not be empty; name properties of text, or remove it'],
  [{ ...found, fields: 'title' }, '"search.fields" must be an array of properties, not "title"'],
  [{ ...found, fields: ['id'] }, '"search" names "id", which is not text'],
  [{ ...found, fields: ['secret'] }, '"search" names "secret", which is hidden'],
  [
    { ...found, fields: ['title', 'parent.title'] },
    '"search" names "parent.title", a field of a related record, which no index contains',
  ],
  [
    { ...found, fields: ['coded'] },
    '"search" names "coded", which has a transformer: the index contains other texts than records show',
  ],
  [{ fields: ['title'] }, '"search.index" must be a name of letters, digits and "_", not undefined'],
  [{ ...found, index: 'a"b' }, '"search.index" must be a name of letters, digits and "_", not "a\\"b"'],
  [{ ...found, configuration: 5 }, '"search.configuration" must be a name of letters, digits and "_", not 5'],
  [{ ...found, language: 'en' }, 'unknown option "language" in "search"; options: fields, index, configuration'],
]
test.each(mistakes)('%j is a mistake', async (search, mistake) => {
  const dataSource = await openDataSource([Page])
  const resources = [{ entity: Page, exclude: ['secret'], search: search as IndexedSearch }]
  try {
    expect(() => mountResources(new Koa(), dataSource, { defaultAuth: permitAll, resources })).toThrow(
      expect.objectContaining({ mistakes: [`Page: ${mistake}`] }),
    )
  } finally {
    await dataSource.destroy()
  }
})

/** The warnings of a mount with an index, after the mount has looked for it. */
async function warningsOf(create: (dataSource: DataSource) => Promise<unknown>, entity: new () => object = Page) {
  const lines: string[] = []
  const statements: string[] = []
  const dataSource = await openDataSource(
    [entity],
    (sql) => statements.push(sql),
    {},
    (line) => lines.push(line),
  )
  await create(dataSource)
  statements.length = 0
  const search = { fields: ['title', 'text'], index: 'page_search' }
  mountResources(new Koa(), dataSource, { defaultAuth: permitAll, resources: [{ entity, search }] })
  const isLookup = (sql: string): boolean => /pg_indexes|information_schema.statistics|sqlite_master/.test(sql)
  for (let wait = 0; wait < 100 && !lines.some((line) => line.includes('"search"')); wait++) {
    await setTimeout(statements.some(isLookup) ? 5 : 20)
  }
  const found = lines.filter((line) => line.includes('"search"'))
  return { dataSource, found }
}

@Entity('new, (old) page')
class UnusualPage {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20, name: 'the, (title)' }) title!: string
  @Column({ length: 20, name: 'TEXT' }) text!: string
}

test.each([Page, UnusualPage])(
  'an index of %p that does not exist is reported, and the reported statement creates it',
  async (entity) => {
    const { dataSource, found } = await warningsOf(async () => undefined, entity)
    const [, problem, statement = ''] =
      /^warn typeorm-resources: \w+: "search" names the index "page_search", which (.*); create it in a migration: (.*)$/.exec(
        found.join(),
      ) ?? []
    expect(problem).toBe('does not exist')
    await dataSource.destroy()
    const created = await warningsOf((other) => other.query(statement.replace(/"\w+"\.(?=")/, '')), entity)
    expect(created.found).toEqual([])
    await created.dataSource.destroy()
  },
)

const others: readonly (readonly [string, string])[] = isPostgres
  ? [
      ['CREATE INDEX page_search ON page (title)', 'has another expression'],
      [
        `CREATE INDEX page_search ON page USING gin (to_tsvector('simple', title || ' ' || text))`,
        'has another expression',
      ],
      [
        `CREATE INDEX page_search ON page USING gin (to_tsvector('english', coalesce(title, '') || ' ' || coalesce(text, '')))`,
        'has another expression',
      ],
    ]
  : isMariadb
    ? [
        ['CREATE INDEX page_search ON page (title, text)', 'is not a FULLTEXT index'],
        ['CREATE FULLTEXT INDEX page_search ON page (title)', 'has other columns: title'],
      ]
    : [
        ['CREATE TABLE page_search (title, text)', 'is not an FTS5 table'],
        ['CREATE VIRTUAL TABLE page_search USING fts5(title, text)', 'does not have page as external content'],
        [
          `CREATE VIRTUAL TABLE page_search USING fts5(title, content='page', content_rowid='id')`,
          'has no column text',
        ],
      ]
test.each(others)('the index of %s is reported: it %s', async (statement, problem) => {
  const { dataSource, found } = await warningsOf((source) => source.query(statement))
  await dataSource.destroy()
  expect(found).toEqual([expect.stringContaining(`which ${problem}; create it`)])
})

@Entity('page')
class Keyed {
  @PrimaryColumn({ length: 20 }) id!: string
  @Column({ length: 20 }) title!: string
  @Column({ length: 20 }) text!: string
}

test('an entity without an integer key is reported on SQLite', async () => {
  const { dataSource, found } = await warningsOf(
    (source) => createSearchIndex(source, 'page', 'page_search', ['title', 'text']),
    Keyed,
  )
  await dataSource.destroy()
  const problem = 'cannot be used: an FTS5 table needs an entity with an integer key'
  expect(found).toEqual(isSqlite ? [expect.stringContaining(problem)] : [])
})
