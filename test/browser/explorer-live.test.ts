import { City } from '../../sample/entities'
import { send } from '../client'
import type { World } from '../world/world'
import { Visitor } from './browser'
import { explorerPage } from './explorer-page'
import { openSampleSite } from './sample-site'

/** The explorer shows the changes that others make to the records of a list. */

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
