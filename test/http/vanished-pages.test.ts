import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { send } from '../client'
import { permitAll } from '../support/access'
import { KiB, longText } from '../support/texts'
import { worldPerTest } from '../support/world-per-test'
import type { World } from '../world/world'

/**
 * Pages whose records are deleted after their sizes were read. A read replica that lags behind the one that has returned
 * the sizes has the same effect.
 */

@Entity()
@Resource({ auth: permitAll })
class Report {
  @PrimaryGeneratedColumn() id!: number
  @Column(longText) body!: string
}

@Entity()
@Resource({ auth: permitAll, paging: 'keyset' })
class Log {
  @PrimaryGeneratedColumn() id!: number
  @Column(longText) body!: string
}

const openEach = worldPerTest()

/** With a single connection, a statement that is sent after the first one of a list runs before its second one. */
async function open(): Promise<World> {
  const entities = [Report, Log]
  const seed: NonNullable<Parameters<typeof openEach>[0]>['seed'] = async ({ manager }) => {
    const rows = Array.from({ length: 6 }, () => ({ body: 'x'.repeat(8 * KiB) }))
    for (const entity of entities) await manager.insert(entity, rows)
  }
  const source = { poolSize: 1 } as object
  return openEach({ entities, seed, source, mount: { limits: { pageBytes: 20 * KiB } } })
}

interface Page {
  readonly meta: { readonly next: string; readonly previous: string }
  readonly objects: readonly { readonly id: number }[]
}

async function read({ url }: World, path: string): Promise<Page> {
  const reply = await send(url, `GET ${path}`)
  expect(reply.status).toBe(200)
  return reply.json() as Page
}

/** Reads a page, and deletes records after the first statement of the list. */
async function readWhileDeleted(world: World, path: string, sql: string): Promise<Page> {
  let deleting: Promise<unknown> | undefined
  const remove = (): void => {
    deleting ??= world.sql(sql)
  }
  subscribe('typeorm-resources:statement', remove)
  try {
    return await read(world, path)
  } finally {
    unsubscribe('typeorm-resources:statement', remove)
    await deleting
  }
}

const idsOf = ({ objects }: Page): readonly number[] => objects.map(({ id }) => id)

test.each(['report', 'log'])(
  'a page of %s whose records have gone, as all after them, has no link to the next page',
  async (name) => {
    const world = await open()
    const first = await read(world, `/api/${name}/?limit=4`)
    expect(idsOf(first)).toEqual([1, 2])
    const page = await readWhileDeleted(world, first.meta.next, `DELETE FROM "${name}" WHERE "id" > 2`)
    expect([idsOf(page), page.meta.next]).toEqual([[], ''])
    expect(idsOf(await read(world, page.meta.previous))).toEqual([1, 2])
  },
)

test.each(['report', 'log'])('a first page of %s whose records have gone leads to no other page', async (name) => {
  const world = await open()
  const path = `/api/${name}/?limit=4`
  // Until the mount has read the settings of the database, it uses the connection too.
  expect(idsOf(await read(world, path))).toEqual([1, 2])
  const page = await readWhileDeleted(world, path, `DELETE FROM "${name}"`)
  expect([idsOf(page), page.meta]).toMatchObject([[], { next: '', previous: '' }])
})

test.each(['report', 'log'])(
  'a page of %s before a token whose records have gone has no link to the previous page',
  async (name) => {
    const world = await open()
    const first = await read(world, `/api/${name}/?limit=4`)
    const second = await read(world, first.meta.next)
    const third = await read(world, second.meta.next)
    expect(idsOf(third)).toEqual([5, 6])
    const page = await readWhileDeleted(world, third.meta.previous, `DELETE FROM "${name}" WHERE "id" < 5`)
    expect([idsOf(page), page.meta.previous]).toEqual([[], ''])
    expect(idsOf(await read(world, page.meta.next))).toEqual([5, 6])
  },
)
