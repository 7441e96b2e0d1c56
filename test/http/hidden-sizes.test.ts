import { EventEmitter, once } from 'node:events'
import { AfterLoad, Column, Entity, ManyToOne, PrimaryColumn, PrimaryGeneratedColumn, type Relation } from 'typeorm'
import { anonymous, Resource, UserAccount, userRule } from 'typeorm-resources'
import { type Reply, send } from '../client'
import { isMariadb } from '../world/leg'
import { openWorld, type World } from '../world/world'

/**
 * Hidden columns are read where listeners are to see them. Where a page ends, and whether a record can be shown, must not say how long
 * they are. What is read is bounded all the same.
 */

const longText = isMariadb ? 'longtext' : 'text'
const seen: string[] = []
/** What listeners wait for. */
let gate: Promise<unknown> = Promise.resolve()
const arrivals = new EventEmitter()

@Entity()
@UserAccount({ hash: (plain) => plain, verify: (plain, stored) => plain === stored })
class Person {
  @PrimaryColumn({ length: 190 }) name!: string
  @Column() username!: string
  @Column() password!: string
}

@Entity()
@Resource({ auth: () => anonymous, exclude: ['secret'] })
class Doc {
  @PrimaryGeneratedColumn() id!: number
  @Column(longText) title!: string
  @Column({ type: longText, nullable: true }) secret!: string | null
  @AfterLoad() async load(): Promise<void> {
    seen.push(`${this.id} ${this.secret?.length}`)
    arrivals.emit('loading')
    await gate
  }
}

/** Its hidden owner is read without a listener. */
@Entity()
@Resource({ exclude: ['author'], ownerField: 'author', auth: userRule({ read: 'public' }) })
class Owned {
  @PrimaryGeneratedColumn() id!: number
  @Column(longText) title!: string
  @ManyToOne(() => Person, { nullable: false }) author!: Relation<Person>
}

const titles = [10, 10, 10, 1500, 10, 900, 900, 900, 10, 4500, 10, 10]
/** Lengths of the hidden values of databases that are the same to a client. */
const sides = [titles.map(() => 1), [10, 1500, 5000, 1, 300, 100_000, 1, 2001, 4001, 8, 1, 60_000]]

const worlds: World[] = []
afterEach(async () => {
  await Promise.all(worlds.splice(0).map((world) => world.close()))
})

async function openSide(secrets: readonly number[], limits: object): Promise<World> {
  const world = await openWorld({ entities: [Person, Doc, Owned], mount: { limits } })
  worlds.push(world)
  const { dataSource } = world
  const nameOf = (length: number): string => `p${length}`.padEnd(Math.min(length, 190), '-')
  const names = new Set(secrets.map(nameOf))
  await dataSource
    .getRepository(Person)
    .insert([...names].map((name) => ({ name, username: name.slice(0, 9), password: 'x' })))
  for (const [index, length] of secrets.entries()) {
    const title = 't'.repeat(titles[index] ?? 0)
    await dataSource.getRepository(Doc).insert({ title, secret: 's'.repeat(length) })
    await dataSource.getRepository(Owned).insert({ title, author: { name: nameOf(length) } })
  }
  return world
}

/** A response as text, without its `Date`. */
const visible = ({ status, headers: { date, ...headers }, text }: Reply): string =>
  [status, ...Object.entries(headers).map((header) => header.join(': ')), '', text].join('\n')

const lists = ['limit=3', 'limit=1000', 'limit=2&page=3', 'limit=7&ordering=-id', 'limit=5&id__gt=4', 'id=10']
const gets = ['doc', 'owned'].flatMap((table) => [
  ...lists.map((query) => `GET /api/${table}/?${query}`),
  ...titles.map((_, index) => `GET /api/${table}/${index + 1}/`),
])
const puts = titles.map((_, index) => ({ line: `PUT /api/doc/${index + 1}/`, body: { title: `new ${index}` } }))

test('databases that differ in the sizes of hidden values answer alike', async () => {
  const limits = { pageBytes: 2000, itemBytes: 4000 }
  const opened = await Promise.all(sides.map((secrets) => openSide(secrets, limits)))
  const requests = [...gets.map((line) => ({ line, body: undefined })), ...puts]
  for (const { line, body } of requests) {
    const [one, other] = await Promise.all(opened.map(({ url }) => send(url, line, { body })))
    if (one === undefined || other === undefined) throw new Error('there must be two worlds')
    expect(`${line}\n${visible(other)}`).toBe(`${line}\n${visible(one)}`)
  }
  const { url } = opened[1] as World
  const cut = (await send(url, 'GET /api/owned/?limit=1000')).json() as { objects: unknown[] }
  expect(cut.objects).toHaveLength(5)
  expect((await send(url, 'GET /api/owned/10/')).json()).toMatchObject({
    detail: expect.stringContaining('has 4500 b'),
  })
})

test('listeners see hidden values of any size, and the rows of a page in their order', async () => {
  const secrets = [10, 1500, 5000, 1, 300, 100_000, 1, 2001, 4001, 8, 1, 60_000]
  const { url, statements } = await openSide(secrets, { pageBytes: 10_000 })
  statements()
  seen.splice(0)
  const { objects } = (await send(url, 'GET /api/doc/?limit=12')).json() as { objects: readonly { id: number }[] }
  expect(objects.map(({ id }) => id)).toEqual(secrets.map((_, index) => index + 1))
  expect(seen).toEqual(secrets.map((length, index) => `${index + 1} ${length}`))
  // One statement measures; the hidden values of the page need several pages' bytes.
  expect(statements().length).toBeGreaterThan(3)
})

const waits = ['GET /api/doc/', 'GET /api/doc/1/', 'GET /api/doc/?limit=1']

test.each(waits)('rows that a listener has not let go of are in memory: %s', async (line) => {
  const { url, dataSource } = await openSide([], { responseBytes: 512 * 1024, pageBytes: 1024 * 1024 })
  const value = 'v'.repeat(200 * 1024)
  await dataSource.getRepository(Doc).insert([{ title: value, secret: value }])
  let open = (): void => undefined
  gate = new Promise<void>((resolve) => {
    open = resolve
  })
  const loading = once(arrivals, 'loading')
  const first = send(url, line)
  await loading
  const second = send(url, line)
  const outcome = await Promise.race([
    second.then(({ status }) => status),
    once(arrivals, 'loading').then(() => 'in memory too'),
  ])
  open()
  expect(outcome).toBe(503)
  expect([(await first).status, (await send(url, line)).status]).toEqual([200, 200])
})
