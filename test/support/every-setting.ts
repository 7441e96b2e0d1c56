import { hash } from 'node:crypto'
import {
  Check,
  Column,
  type DataSource,
  DeleteDateColumn,
  Entity,
  JoinTable,
  ManyToMany,
  ManyToOne,
  OneToMany,
  PrimaryGeneratedColumn,
  type Relation,
  Tree,
  TreeChildren,
  TreeParent,
  VersionColumn,
} from 'typeorm'
import { Resource } from 'typeorm-resources'
import { send } from '../client'
import { caseCount, timeFor } from '../hostile/cases'
import { leg, sqlOf, types } from '../world/leg'
import { openWorld, type WorldOptions } from '../world/world'
import { permitAllAsUser1 } from './access'

/** A setting of database sessions, with a value that is not its default. */
export interface Setting {
  readonly name: string
  readonly value: string
}

@Entity()
@Check('positive_pages', sqlOf('"pages" > 0'))
@Resource({
  auth: permitAllAsUser1,
  bulk: true,
  formats: true,
  aggregate: true,
  nested: ['parts', 'tags'],
  search: ['title'],
  exclude: ['deletedAt'],
  may: { restore: true },
})
class Book {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 40 }) title!: string
  @Column({ type: 'text', nullable: true }) body!: string | null
  @Column({ default: 1 }) pages!: number
  @Column({ type: 'decimal', precision: 20, scale: 6, nullable: true }) price!: string | null
  @Column({ type: 'bigint', nullable: true }) size!: string | null
  @Column({ type: 'double precision', nullable: true }) ratio!: number | null
  @Column({ type: 'date', nullable: true }) day!: string | null
  @Column({ ...types.instant, nullable: true }) at!: Date | null
  @Column({ type: 'time', nullable: true }) hour!: string | null
  @Column({ type: 'json', nullable: true }) data!: object | null
  @Column({ type: 'uuid', nullable: true }) code!: string | null
  @Column({ default: false }) done!: boolean
  @VersionColumn() version!: number
  @DeleteDateColumn() deletedAt!: Date | null
  @ManyToOne(
    () => Book,
    (book) => book.parts,
  )
  whole!: Relation<Book> | null
  @OneToMany(
    () => Book,
    (book) => book.whole,
  )
  parts!: Relation<Book>[]
  @ManyToMany(() => Tag)
  @JoinTable()
  tags!: Relation<Tag>[]
}

@Entity()
@Resource({ auth: permitAllAsUser1, bulk: true })
class Tag {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20, unique: true }) name!: string
}

@Entity()
@Tree('nested-set')
@Resource({ auth: permitAllAsUser1 })
class Folder {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20, default: '' }) name!: string
  @TreeParent() parent!: Folder | null
  @TreeChildren() children!: Folder[]
}

const title = 'Ünï \\ \' " %_ é'
const whole = {
  ...{
    title,
    body: 'text '.repeat(50),
    pages: 3,
    price: '12345678901234.567891',
    size: '9007199254740993',
    ratio: 0.1,
  },
  ...{ day: '2024-02-29', at: '2024-02-29T12:34:56.789Z', hour: '23:59:58', done: true },
  ...{ data: { a: [1, '2', null, { 'ü"\\': true }] }, code: '3f2504e0-4f89-41d3-9a0c-0305e82c3301' },
}
const many = Array.from({ length: 20 }, (_, index) => {
  const values = { title: `bulk ${index}`, pages: index + 1, price: `${index}.5`, day: '2024-01-31' }
  return { ...values, whole_id: index % 2 ? 1 : null }
})

/** Requests whose responses must not depend on the settings of sessions. */
const requests: readonly (readonly [line: string, body?: object])[] = [
  ['POST tag/', [{ name: 'red' }, { name: 'Blue' }, { name: 'ünder' }]],
  ['POST tag/', { name: 'red' }],
  ['POST book/', whole],
  [
    'POST book/?include=parts,tags',
    { title: '', body: '', parts: [{ title: 'p1' }, { title: 'p2', ratio: -0.5 }], tag_ids: [1, 3] },
  ],
  ['POST book/', { title: 'x'.repeat(41) }],
  ['POST book/', { title: 'a', pages: 0 }],
  ['POST book/', { title: 'a', whole_id: 99 }],
  ['POST book/', many],
  ['GET book/?limit=50&include=parts(limit:50),tags,whole'],
  ['GET book/?title__like=Ünï%25'],
  [`GET book/?title=${encodeURIComponent(title)}`],
  ['GET book/?title='],
  ['GET book/?title__ilike=%25BULK 1%25&ordering=-pages'],
  ['GET book/?price=12345678901234.567891'],
  ['GET book/?price__in=12345678901234.567891,0.5'],
  ['GET book/?size__gte=9007199254740993'],
  ['GET book/?ratio=0.1'],
  ['GET book/?at__gte=2024-02-29T12:34:56.789Z'],
  ['GET book/?day=2024-02-29&hour__gt=23:59:57'],
  ['GET book/?code=3f2504e0-4f89-41d3-9a0c-0305e82c3301'],
  ['GET book/?whole__title__ne=q&limit=30'],
  ['GET book/?parts__title__like=bulk%25'],
  ['GET book/?tags__name=ünder'],
  ['GET book/?body__is=null&ordering=title&limit=4&count=exact'],
  ['GET book/?ordering=body__nullsfirst,-title&limit=30'],
  ['GET book/?aggregate=count,pages__sum,price__sum,ratio__avg,at__max&by=done,day__month'],
  ['GET book/?aggregate=count&by=whole'],
  ['GET book/?search=bulk'],
  ['GET book/?format=ndjson'],
  ['GET book/?format=csv'],
  ['PUT book/1/', { pages: 4, data: { b: 2 } }],
  ['PATCH book/3/', { body: null, price: '0.000001', ratio: 1e-7 }],
  ['PUT book/2/?include=parts,tags', { title: 'again', parts: [{ id: 3, title: 'new' }], tag_ids: [2] }],
  ['PATCH book/?title__like=bulk 1%25', { done: true, title: 'done' }],
  ['DELETE book/?title=done&pages__gt=15'],
  ['DELETE book/1/'],
  ['GET book/1/'],
  ['POST book/1/restore/'],
  ['DELETE tag/1/'],
  ['POST folder/', { name: 'root' }],
  ['POST folder/', { name: 'a', parent_id: 1 }],
  ['POST folder/', { name: 'b', parent_id: 1 }],
  ['PATCH folder/2/', { parent_id: 3 }],
  ['PATCH folder/1/', { parent_id: 3 }],
  ['DELETE folder/2/'],
  [
    'POST -/batch',
    [
      { method: 'POST', path: '/api/tag/', body: { name: 'batch' } },
      { method: 'PATCH', path: '/api/tag/2/', body: { name: 'BLUE' } },
    ],
  ],
  [
    'POST -/batch',
    [
      { method: 'POST', path: '/api/tag/', body: { name: 'lost' } },
      { method: 'POST', path: '/api/tag/', body: { name: 'BLUE' } },
    ],
  ],
  ['GET tag/?ordering=name'],
  ['GET book/?limit=100&deleted=with&include=tags'],
]

/** Sends all requests to a new site. @returns the responses, and the errors that were logged */
async function responsesWith(options: WorldOptions): Promise<readonly string[]> {
  const world = await openWorld({ entities: [Book, Tag, Folder], mount: { batch: true }, ...options })
  try {
    const responses: string[] = []
    for (const [line, body] of requests) {
      const [method = '', path = ''] = line.split(/ (.*)/)
      const escaped = encodeURI(path).replaceAll('%25', '%')
      const { status, text } = await send(world.url, `${method} /api/${escaped}`, body && { body })
      responses.push(`${line} ${status} ${text}`)
    }
    return [...responses, ...world.faults.map(String)]
  } finally {
    await world.close()
  }
}

/**
 * Declares a test that the service responds in the same way, whatever the defaults of sessions are: a few of the settings, or all at
 * night.
 * @param settingsOf finds the settings of the server
 * @param optionsFor options of a world whose sessions have a setting
 */
export function testEverySetting(
  settingsOf: (dataSource: DataSource) => Promise<readonly Setting[]>,
  optionsFor: (setting: Setting) => WorldOptions,
): void {
  const count = caseCount(8, 1000)
  test(
    `TEST_SEED=${leg.seed}: responses do not depend on the settings of sessions`,
    async () => {
      const world = await openWorld({ entities: [Tag] })
      const all = await settingsOf(world.dataSource).finally(() => world.close())
      const rank = ({ name, value }: Setting): string => hash('sha256', `${leg.seed} ${name} ${value}`)
      const chosen = all.toSorted((one, other) => rank(one).localeCompare(rank(other))).slice(0, count)
      expect(all.length).toBeGreaterThan(50)
      const expected = await responsesWith({})
      const others: Record<string, readonly string[]> = {}
      for (const setting of chosen) {
        const responses = await responsesWith(optionsFor(setting))
        const different = responses.filter((response, index) => response !== expected[index])
        if (different.length > 0) others[`${setting.name} = ${setting.value}`] = different
      }
      expect(others).toEqual({})
    },
    timeFor(count) + count * 10_000,
  )
}
