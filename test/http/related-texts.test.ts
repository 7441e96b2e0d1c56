import {
  ChildEntity,
  Column,
  type DataSource,
  DeleteDateColumn,
  Entity,
  JoinColumn,
  JoinTable,
  ManyToMany,
  ManyToOne,
  OneToMany,
  OneToOne,
  PrimaryColumn,
  type Relation,
  TableInheritance,
} from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf } from '../client'
import { permitAll } from '../support/access'
import { insertRows } from '../support/insert-rows'
import { idsOf, readPages } from '../support/pages'
import { longText } from '../support/texts'
import { leg } from '../world/leg'
import { openWorld, type World } from '../world/world'

/**
 * Patterns that are compared with long texts of related records. SQLite compares each of these texts once, and not once for
 * each record of the list that refers to it. Filters on `long` must find the same records as those on `short`.
 */

class Texts {
  @Column({ type: 'varchar', length: 20, nullable: true }) short!: string | null
  /** Begins with the same text. In some records, many other characters follow. */
  @Column({ type: longText, nullable: true }) long!: string | null
}

@Entity()
@Resource({ auth: permitAll })
class Country extends Texts {
  @PrimaryColumn({ type: 'varchar', length: 2 }) code!: string
}

/** Its key has two columns, of which one is a relation. */
@Entity()
@Resource({ auth: permitAll })
class Publisher extends Texts {
  @PrimaryColumn({ type: 'varchar', length: 2 }) countryCode!: string
  @PrimaryColumn() number!: number
  @ManyToOne(() => Country) @JoinColumn({ name: 'countryCode' }) country!: Relation<Country>
  @DeleteDateColumn() deleted!: Date | null
}

@Entity()
@TableInheritance({ column: { type: 'varchar', length: 10, name: 'kind' } })
class Group extends Texts {
  @PrimaryColumn() id!: number
}

@ChildEntity()
@Resource({ auth: permitAll })
class Team extends Group {}

@ChildEntity()
class Club extends Group {}

@Entity()
@Resource({ auth: permitAll, scope: () => ({ hidden: false }) })
class Author extends Texts {
  @PrimaryColumn() id!: number
  @Column({ type: 'boolean' }) hidden!: boolean
  @Column(() => Texts) details!: Texts
  @ManyToOne(() => Publisher, { nullable: true }) publisher!: Relation<Publisher> | null
  @ManyToOne(() => Team, { nullable: true, createForeignKeyConstraints: false }) team!: Relation<Team> | null
  @OneToOne(
    () => Profile,
    ({ author }) => author,
  )
  profile!: Relation<Profile>
  @OneToMany(
    () => Post,
    ({ author }) => author,
  )
  posts!: Relation<Post>[]
  @DeleteDateColumn() deleted!: Date | null
}

@Entity()
@Resource({ auth: permitAll })
class Profile extends Texts {
  @PrimaryColumn() id!: number
  @OneToOne(
    () => Author,
    ({ profile }) => profile,
  )
  @JoinColumn()
  author!: Relation<Author>
}

@Entity()
@Resource({ auth: permitAll, aggregate: true, search: ['name', 'author.long', 'author.publisher.long'] })
class Post {
  @PrimaryColumn() id!: number
  @Column({ type: 'varchar', length: 20 }) name!: string
  @Column() board!: number
  @ManyToOne(
    () => Author,
    ({ posts }) => posts,
    { nullable: true, createForeignKeyConstraints: false },
  )
  author!: Relation<Author> | null
  @ManyToMany(
    () => Tag,
    ({ posts }) => posts,
  )
  @JoinTable()
  tags!: Relation<Tag>[]
}

@Entity()
@Resource({ auth: permitAll })
class Tag extends Texts {
  @PrimaryColumn() id!: number
  @ManyToMany(
    () => Post,
    ({ tags }) => tags,
  )
  posts!: Relation<Post>[]
}

/** More than the number of rows for each of which SQLite compares a text again. */
const postCount = 1300
const words = ['zebra', 'ZEBRA owl', 'cat', 'owl cat', null, 'x_y', 'zeb']
/** Follows a text of which SQLite compares each copy once. */
const padding = '.'.repeat(1100)

function textsOf(index: number): Pick<Texts, 'short' | 'long'> {
  const short = words[index % words.length] ?? null
  return { short, long: short === null || index % 4 === 0 ? short : short + padding }
}

const numbersTo = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index + 1)

const authors = numbersTo(24).map((id) => ({
  id,
  ...textsOf(id),
  details: textsOf(id + 2),
  hidden: id % 5 === 0,
  deleted: id % 11 === 0 ? new Date(0) : null,
  publisher: id % 4 === 0 ? null : { countryCode: ['at', 'be', 'ch'][id % 3], number: 1 + (id % 2) },
  team: id % 6 === 0 ? null : { id: id % 6 },
}))

async function seed(dataSource: DataSource): Promise<void> {
  const codes = ['at', 'be', 'ch']
  const countries = codes.map((code, index) => ({ code, ...textsOf(index + 1) }))
  const publishers = codes.flatMap((countryCode, index) =>
    [1, 2].map((number) => ({
      ...textsOf(index * 2 + number),
      ...{ countryCode, number, deleted: index === 1 && number === 1 ? new Date(0) : null },
    })),
  )
  const groups = (remainder: number): readonly object[] =>
    numbersTo(5)
      .filter((id) => id % 2 === remainder)
      .map((id) => ({ id, ...textsOf(id) }))
  const posts = numbersTo(postCount).map((id) => ({
    id,
    ...{ name: `post ${id}`, board: id % 10, author: id % 26 === 0 ? null : { id: id % 26 } },
  }))
  await insertRows(dataSource, Country, countries)
  await insertRows(dataSource, Publisher, publishers)
  await insertRows(dataSource, Team, groups(1))
  await insertRows(dataSource, Club, groups(0))
  await insertRows(dataSource, Author, authors)
  const profiles = authors
    .filter(({ id }) => id % 2 === 1)
    .map(({ id }) => ({ id, ...textsOf(id + 1), author: { id } }))
  await insertRows(dataSource, Profile, profiles)
  await insertRows(dataSource, Post, posts)
  const tags = numbersTo(5).map((id) => ({ id, ...textsOf(id) }))
  await insertRows(dataSource, Tag, tags)
  const links = posts.flatMap(({ id }) =>
    (id % 3 === 0 ? [1 + (id % 5)] : [1 + (id % 5), 1 + ((id + 1) % 5)]).map((tag) => [id, tag]),
  )
  const { driver } = dataSource
  const columns = ['postId', 'tagId'].map((name) => driver.escape(name)).join()
  await dataSource.query(
    `INSERT INTO ${driver.escape('post_tags_tag')} (${columns}) VALUES ${links.map((link) => `(${link.join()})`).join()}`,
  )
}

/** Numbers of long texts, and of other texts, that were compared with a pattern. */
let comparisons = 0
let otherComparisons = 0

/** Replaces the function of SQLite that compares a text with a pattern by one that counts. */
function countComparisons({ driver }: DataSource): void {
  const { databaseConnection } = driver as unknown as {
    readonly databaseConnection: {
      readonly function: (name: string, run: (pattern: string | null, text: string | null) => number | null) => void
    }
  }
  databaseConnection.function('glob', (pattern, text) => {
    if (pattern === null || text === null) return null
    if (text.length > padding.length) comparisons++
    else otherComparisons++
    const source = pattern.replace(/\*|\?|\[[^\]]*\]|[^\w\s]/g, (token) => {
      if (token === '*') return '[^]*'
      if (token === '?') return '[^]'
      return token.length > 1 ? token : `\\${token}`
    })
    return Number(new RegExp(`^${source}$`).test(text))
  })
}

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [Country, Publisher, Group, Team, Club, Author, Profile, Post, Tag],
    seed,
  })
  if (leg.driver === 'better-sqlite3') countComparisons(world.dataSource)
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})
const { get } = apiOf(() => world.url)

/** The filters of both fields: each `$` stands for the name of the field. */
const withField = (filters: string, field: 'short' | 'long'): string => filters.replaceAll('$', field)

test.each([
  'author__$__ilike=%25ZEB%25',
  'author__$__like=%25ZEB%25',
  'author__$__like=zeb%25&author__$__like=owl%25',
  'author__$__ilike=x\\_y%25',
  'author__$__ilike=%25&author__id__gt=3',
  'not=(author__$__ilike:%25zeb%25)',
  'not=(author__$__ilike:%25zeb%25,board:3)',
  'not=(not(author__$__ilike:%25zeb%25))',
  'or=(author__$__ilike:%25zeb%25,author__$__is:null)',
  'or=(author__$__ilike:%25zeb%25,board:3,author__id:7)',
  'author__$__ilike=%25a%25&author__$__ilike=%25x%25&board__in=1,2,3,4,5,6,7,8,9',
  'author__$__ilike=%25cat%25&author__details__$__ilike=x%25',
  'author__details__$__ilike=%25zeb%25',
  'author__$__is=null&author__details__$__ilike=%25zeb%25',
  'author__profile__$__ilike=%25zeb%25',
  'not=(author__profile__$__ilike:%25zeb%25)',
  'author__team__$__ilike=%25zeb%25',
  'not=(author__team__$__ilike:%25zeb%25)',
  'author__publisher__$__ilike=%25zeb%25',
  'not=(author__publisher__$__ilike:%25zeb%25)',
  'author__publisher__country__$__ilike=%25zeb%25',
  'or=(author__publisher__country__$__ilike:%25zeb%25,author__publisher__$__ilike:%25x%25,author__$__ilike:%25o%25)',
  'tags__$__ilike=%25zeb%25',
  'not=(tags__$__ilike:%25zeb%25)',
  'tags__$__ilike=%25zeb%25&author__$__ilike=%25zeb%25',
  'tags__posts__author__$__ilike=x%25&tags__id__gt=4',
  'author__posts__tags__$__ilike=x%25',
  'author__$__ilike=%25zeb%25&ordering=author__short,-author__publisher__number',
  'author__$__ilike=%25zeb%25&id__lte=30',
  'author__$__ilike=%25zeb%25&id=7',
])('the same records match as with short texts: %s', async (filters) => {
  const read = async (field: 'short' | 'long'): Promise<readonly number[]> => {
    const pages = await readPages(world.url, `/api/post/?${withField(filters, field)}&limit=400`)
    return idsOf(pages)
  }
  const expected = await read('short')
  expect(await read('long')).toEqual(expected)
  expect(expected.length).toBeGreaterThan(0)
  expect(expected.length).toBeLessThan(postCount)
})

test('a search finds the same records as filters on short texts', async () => {
  const read = async (parameters: string): Promise<readonly number[]> =>
    idsOf(await readPages(world.url, `/api/post/?${parameters}&limit=400`))
  const contains = (word: string): string =>
    `or=(name__ilike:%25${word}%25,author__short__ilike:%25${word}%25,author__publisher__short__ilike:%25${word}%25)`
  const expected = await read([contains('zeb'), contains('12')].join('&'))
  expect(expected.length).toBeGreaterThan(0)
  expect(await read('search=ZEB%2012')).toEqual(expected)
  expect(await read('search=ZEB')).toEqual(await read(contains('zeb')))
})

test('pages by keyset, counts and groups have the same records', async () => {
  const filters = 'author__$__ilike=%25zeb%25&board__ne=3'
  const read = async (field: 'short' | 'long'): Promise<unknown> => {
    const pages = await readPages(
      world.url,
      `/api/post/?${withField(filters, field)}&limit=97&after=&ordering=-author__details__short`,
    )
    const count = await get(`post/?${withField(filters, field)}&count=exact&limit=0`)
    const groups = await get(`post/?${withField(filters, field)}&aggregate=count&by=author__team`)
    return [idsOf(pages), (count.json() as { meta: { total: number } }).meta.total, groups.json()]
  }
  const expected = await read('short')
  expect(await read('long')).toEqual(
    JSON.parse(JSON.stringify(expected).replaceAll(withField(filters, 'short'), withField(filters, 'long'))),
  )
})

test.each([
  'tag/?fields=id&include=posts(author__$__ilike:%25zeb%25,limit:7,count:exact)',
  'tag/?fields=id&id=2&include=posts(author__$__ilike:%25zeb%25,board__ne:3,limit:7,count:exact)',
  'author/?fields=id&include=posts(author__publisher__$__ilike:%25zeb%25,limit:3,count:exact)',
  'author/?fields=id&id=7&include=posts(not(author__publisher__$__ilike:%25zeb%25),limit:3,count:exact)',
])('included lists have the same records: %s', async (path) => {
  const read = async (field: 'short' | 'long'): Promise<unknown> => {
    const reply = await get(withField(path, field))
    expect(reply.status).toBe(200)
    return JSON.parse(reply.text.replaceAll(`__${field}__`, '__$__'))
  }
  expect(await read('long')).toEqual(await read('short'))
})

const isLong = ({ long }: Pick<Texts, 'long'>): boolean => long !== null && long.length > padding.length
const visibleAuthors = authors.filter(({ hidden }) => !hidden)

if (leg.driver === 'better-sqlite3')
  test.each([
    ['a list', 'post/?author__long__ilike=%25none%25', visibleAuthors.filter(isLong).length],
    ['a count', 'post/?author__long__like=%25none%25&count=exact&limit=0', visibleAuthors.filter(isLong).length],
    [
      'a list with another filter',
      'post/?author__long__ilike=%25none%25&board__ne=3',
      visibleAuthors.filter(isLong).length,
    ],
    ['a search', 'post/?search=none', visibleAuthors.filter(isLong).length + 5],
    ['a negation', 'post/?not=(author__long__ilike:%25none%25)&limit=1000', visibleAuthors.filter(isLong).length],
    [
      'embedded texts',
      'post/?author__details__long__ilike=%25none%25',
      visibleAuthors.filter(({ details }) => isLong(details)).length,
    ],
    ['three levels', 'post/?author__publisher__country__long__ilike=%25none%25', 3],
    ['a relation to many', 'tag/?posts__author__long__ilike=%25none%25', visibleAuthors.filter(isLong).length],
    ['a many-to-many relation', 'post/?tags__long__ilike=%25none%25', 4],
    // These lists have few records, and there may be many more authors.
    ['a single record', 'post/?id=3&author__long__ilike=%25none%25', 1],
    ['a single record, which is filtered last', 'post/?author__long__ilike=%25none%25&id=3', 1],
  ])('each long text is compared at most once: %s', async (_, path, expected) => {
    comparisons = 0
    expect((await get(path)).status).toBe(200)
    expect(comparisons).toBe(expected)
  })

if (leg.driver === 'better-sqlite3')
  test('the records of a list are counted once, however many filters on long texts there are', async () => {
    otherComparisons = 0
    const filters = ['none', 'not', 'neither'].map((word) => `author__long__ilike=%25${word}%25`)
    await get(`post/?name__ilike=post%25&or=(${filters.join().replaceAll('=', ':')})&${filters.join('&')}`)
    // The filter on the name is evaluated for the list and for the count.
    expect(otherComparisons).toBeLessThan(3 * postCount)
  })
