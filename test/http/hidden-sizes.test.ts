import { EventEmitter, once } from 'node:events'
import { AfterLoad, Column, Entity, ManyToOne, PrimaryColumn, PrimaryGeneratedColumn, type Relation } from 'typeorm'
import { Resource, UserAccount, userRule } from 'typeorm-resources'
import { send, textWithoutDate } from '../client'
import { permitAll } from '../support/access'
import { longText } from '../support/texts'
import { unhashed } from '../support/unhashed'
import { worldPerTest } from '../support/world-per-test'
import type { World } from '../world/world'

/**
 * Hidden columns are read for listeners. Their length must affect neither where a page ends nor whether a record can be shown, but the
 * memory for them must be limited.
 */

const seen: string[] = []
/** Promise that listeners wait for. */
let gate: Promise<unknown> = Promise.resolve()
const arrivals = new EventEmitter()

@Entity()
@UserAccount(unhashed)
class Person {
  @PrimaryColumn({ length: 190 }) name!: string
  @Column() username!: string
  @Column() password!: string
}

@Entity()
@Resource({ auth: permitAll, exclude: ['secret'] })
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

/** Has a hidden owner, which is read although there is no listener. */
@Entity()
@Resource({ exclude: ['author'], ownerField: 'author', auth: userRule({ read: 'public' }) })
class Owned {
  @PrimaryGeneratedColumn() id!: number
  @Column(longText) title!: string
  @ManyToOne(() => Person, { nullable: false }) author!: Relation<Person>
}

const titles = [10, 10, 10, 1500, 10, 900, 900, 900, 10, 4500, 10, 10]
/** Lengths of the hidden values of two databases that differ only in these values. */
const sides = [titles.map(() => 1), [10, 1500, 5000, 1, 300, 100_000, 1, 2001, 4001, 8, 1, 60_000]]

const openForTest = worldPerTest()

async function openSide(secrets: readonly number[], limits: object): Promise<World> {
  const world = await openForTest({ entities: [Person, Doc, Owned], mount: { limits } })
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

const lists = ['limit=3', 'limit=1000', 'limit=2&page=3', 'limit=7&ordering=-id', 'limit=5&id__gt=4', 'id=10']
const gets = ['doc', 'owned'].flatMap((table) => [
  ...lists.map((query) => `GET /api/${table}/?${query}`),
  ...titles.map((_, index) => `GET /api/${table}/${index + 1}/`),
])
const puts = titles.map((_, index) => ({ line: `PUT /api/doc/${index + 1}/`, body: { title: `new ${index}` } }))

test('databases that differ only in the sizes of hidden values give the same responses', async () => {
  const limits = { pageBytes: 2000, itemBytes: 4000 }
  const opened = await Promise.all(sides.map((secrets) => openSide(secrets, limits)))
  const requests = [...gets.map((line) => ({ line, body: undefined })), ...puts]
  for (const { line, body } of requests) {
    const [one, other] = await Promise.all(opened.map(({ url }) => send(url, line, { body })))
    if (one === undefined || other === undefined) throw new Error('two databases are needed')
    expect(`${line}\n${textWithoutDate(other)}`).toBe(`${line}\n${textWithoutDate(one)}`)
  }
  const { url } = opened[1] as World
  const cut = (await send(url, 'GET /api/owned/?limit=1000')).json() as { objects: unknown[] }
  expect(cut.objects).toHaveLength(5)
  expect((await send(url, 'GET /api/owned/10/')).json()).toMatchObject({
    detail: expect.stringContaining('has 4500 b'),
  })
})

test('listeners receive hidden values of any size, and the rows of a page in their order', async () => {
  const secrets = [10, 1500, 5000, 1, 300, 100_000, 1, 2001, 4001, 8, 1, 60_000]
  const { url, statements } = await openSide(secrets, { pageBytes: 10_000 })
  statements()
  seen.splice(0)
  const { objects } = (await send(url, 'GET /api/doc/?limit=12')).json() as { objects: readonly { id: number }[] }
  expect(objects.map(({ id }) => id)).toEqual(secrets.map((_, index) => index + 1))
  expect(seen).toEqual(secrets.map((length, index) => `${index + 1} ${length}`))
  // One statement reads the lengths; the hidden values of the page take several further ones, since they exceed the limit of a page.
  expect(statements().length).toBeGreaterThan(3)
})

const waits = ['GET /api/doc/', 'GET /api/doc/1/', 'GET /api/doc/?limit=1']

test.each(waits)('rows that a listener is still using count as used memory: %s', async (line) => {
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
