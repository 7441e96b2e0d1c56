import type { Page, Response } from 'playwright-core'
import { Column, Entity, PrimaryColumn } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { City } from '../../sample/entities'
import { send } from '../client'
import { permitAll } from '../support/access'
import { openWorld, type World } from '../world/world'
import { Visitor } from './browser'
import { explorerPage } from './explorer-page'
import { openSampleSite } from './sample-site'

/** The explorer shows the changes that others make to the records of a list. */

/** Its ids contain a comma, and may contain quotes. */
@Entity()
@Resource({ auth: permitAll })
class Seat {
  @PrimaryColumn({ length: 10 }) row!: string
  @PrimaryColumn({ type: 'int' }) number!: number
  @Column({ length: 10 }) state!: string
}

let site: World
let visitor: Visitor
beforeAll(async () => {
  site = await openSampleSite({ mount: { live: true } })
  visitor = await Visitor.arrive()
})
afterEach(async () => expect(await visitor.finish()).toEqual([]))
afterAll(async () => {
  await visitor.leave()
  await site.close()
  expect(site.faults).toEqual([])
})

test('a row that is changed by others changes, and one that is deleted disappears', async () => {
  const page = await visitor.open(`${site.url}/api/#/city?ordering=-population&limit=2`)
  const { expectColumn, expectLength } = explorerPage(() => page)
  await expectColumn('name', ['Tokyo', 'Berlin'])
  const cities = site.dataSource.getRepository(City)
  await cities.update({ name: 'Berlin' }, { population: 3_500_000 })
  await expectColumn('population', ['8,336,599', '3,500,000'])
  await cities.delete({ name: 'Tokyo' })
  await expectColumn('name', ['Berlin', 'Madrid'])
  await expectLength(2)
  expect((await send(site.url, 'GET /api/city/?limit=1&ordering=-population')).status).toBe(200)
})

test('the page follows only the records that it shows', async () => {
  const page = await visitor.open(`${site.url}/api/#/city?ordering=-population&limit=2`)
  const { expectColumn } = explorerPage(() => page)
  const followed = page.waitForRequest((request) => request.url().includes('id__in='))
  await expectColumn('name', ['Berlin', 'Madrid'])
  const { searchParams } = new URL((await followed).url())
  expect([...searchParams.keys()]).toEqual(['id__in'])
  expect(searchParams.get('id__in')?.split(',')).toHaveLength(2)
})

test('records whose ids contain commas and quotes are followed', async () => {
  const hall = await openWorld({ entities: [Seat], mount: { live: true } })
  const seats = hall.dataSource.getRepository(Seat)
  await seats.insert(['A', 'B"'].map((row) => ({ row, number: 1, state: 'free' })))
  const page = await visitor.open(`${hall.url}/api/#/seat`)
  const { expectColumn } = explorerPage(() => page)
  await expectColumn('state', ['free', 'free'])
  await seats.update({ row: 'B"' }, { state: 'taken' })
  await expectColumn('state', ['free', 'taken'])
  await page.close()
  await hall.close()
})

/** Response to the request by which a page follows its records. */
const followed = (page: Page): Promise<Response> => page.waitForResponse((one) => one.url().includes('id__in='))

test('a change between the request for the list and the first event is shown', async () => {
  const page = await visitor.open(`${site.url}/api/`)
  const { resource, expectColumn } = explorerPage(() => page)
  const cities = site.dataSource.getRepository(City)
  await page.route(/id__in=/, async (route) => {
    // The page has read the list, and does not follow it yet.
    await cities.update({ name: 'Rome' }, { name: 'Roma' })
    await route.continue()
  })
  await page.evaluate(`location.hash = '#/city?name__in=Rome,Roma'`)
  await expectColumn('name', ['Roma'])
  await resource('city').waitFor()
})

test('a list that has not changed is read only once', async () => {
  const page = await visitor.open(`${site.url}/api/`)
  const { expectColumn } = explorerPage(() => page)
  const reads: string[] = []
  page.on('request', (request) => /city.*include=/.test(request.url()) && reads.push(request.url()))
  const stream = followed(page)
  await page.evaluate(`location.hash = '#/city?name=Paris'`)
  await expectColumn('name', ['Paris'])
  await stream
  await site.dataSource.getRepository(City).update({ name: 'Paris' }, { population: 2_138_552 })
  await expectColumn('population', ['2,138,552'])
  expect(reads).toHaveLength(2)
})

describe('a service that permits one live list to a client, and sends no heartbeat', () => {
  let narrow: World
  beforeAll(async () => {
    narrow = await openSampleSite({
      mount: { live: true, limits: { liveListsPerClient: 1, liveHeartbeat: 2 ** 31 - 1 } },
    })
  })
  afterAll(() => narrow.close())

  test('a page that is refused tries again until it follows the list', async () => {
    const first = await visitor.open(`${narrow.url}/api/`)
    const opened = followed(first)
    await first.evaluate(`location.hash = '#/city?name=Madrid'`)
    expect((await opened).status()).toBe(200)
    const page = await visitor.open(`${narrow.url}/api/`)
    const refused = followed(page)
    await page.evaluate(`location.hash = '#/city?name=Hamburg'`)
    expect((await refused).status()).toBe(429)
    const accepted = page.waitForResponse((one) => one.url().includes('id__in=') && one.status() === 200)
    await first.close()
    await accepted
    await narrow.dataSource.getRepository(City).update({ name: 'Hamburg' }, { population: 7 })
    await explorerPage(() => page).expectColumn('population', ['7'])
  })

  test('a connection that is silent for a minute is opened again', async () => {
    const page = await visitor.open(`${narrow.url}/api/`)
    await page.clock.install()
    const opened = followed(page)
    await page.evaluate(`location.hash = '#/city?name=Madrid'`)
    await (await opened).headerValue('Content-Type')
    await explorerPage(() => page).expectColumn('name', ['Madrid'])
    const again = followed(page)
    await page.clock.runFor(65_000)
    expect((await again).request().headers()).toHaveProperty('last-event-id')
  })
})
