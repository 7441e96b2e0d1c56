import type { BrowserContextOptions, Page } from 'playwright-core'
import type { World } from '../world/world'
import { Visitor } from './browser'
import { explorerPage } from './explorer-page'
import { openLibrarySite } from './library-site'

/** Foreign keys and related records in the explorer. */

let world: World
let visitor: Visitor
let page: Page

beforeAll(async () => {
  world = await openLibrarySite()
  visitor = await Visitor.arrive()
})
afterEach(async () => expect(await visitor.finish()).toEqual([]))
afterAll(async () => {
  await visitor.leave()
  await world.close()
})

const { link, button, heading, expectColumn, signIn } = explorerPage(() => page)

/** Opens the explorer. @returns the requests for records that it sends from then on */
async function open(fragment: string, options?: BrowserContextOptions): Promise<readonly string[]> {
  page = await visitor.open(`${world.url}/api/`, options)
  await heading('Library').waitFor()
  const paths: string[] = []
  page.on('request', (request) => paths.push(request.url().slice(world.url.length)))
  await page.evaluate(`location.hash = ${JSON.stringify(fragment)}`)
  return paths
}

test('a list shows the names of related records, which it reads with the same request', async () => {
  const paths = await open('#/book?limit=2')
  await expectColumn('writer_id', ['Writer 00 1', 'Writer 01 2'])
  // The first short text of a genre is its label. Without the right to read shelves, their keys are shown.
  await expectColumn('genre_id', ['null', '100% true 1'])
  await expectColumn('shelf_id', ['1', '1'])
  await link('writer_id Writer 01 2').waitFor()
  expect(paths).toEqual(['/api/book/?limit=2&include=writer(fields:(name)),genre(fields:(meaning))'])
})

test('the next page does not have what the page has added to the request', async () => {
  await open('#/book?limit=2')
  await link('Next').click()
  await expectColumn('writer_id', ['Writer 02 3', 'Writer 00 1'])
  expect(decodeURIComponent(new URL(page.url()).hash)).toBe('#/book?limit=2&page=2')
})

test('a record shows the names of related records, which it reads with the same request', async () => {
  const paths = await open('#/book/2')
  await link('writer_id Writer 01 2').waitFor()
  await link('genre_id 100% true 1').waitFor()
  expect(paths).toEqual(['/api/book/2/?include=writer(fields:(name)),genre(fields:(meaning))'])
})

test('if the service refuses the related records, the list is shown without them', async () => {
  await page?.close()
  page = await visitor.open(`${world.url}/api/`)
  await heading('Library').waitFor()
  await page.route(/include=/, (route) => route.fulfill({ status: 403, json: { title: 'No', detail: 'not these' } }))
  await page.evaluate(`location.hash = '#/book?limit=2'`)
  await expectColumn('writer_id', ['Writer 00 1', 'Writer 01 2'])
  await expectColumn('title', ['Book 00', 'Book 01'])
})

test('a record that has been changed meanwhile is not deleted', async () => {
  await open('#/book/40')
  await heading('book 40 Book 39').waitFor()
  await world.dataSource.query(`UPDATE ${world.dataSource.driver.escape('book')} SET pages = 1 WHERE id = 40`)
  await button('Delete').click()
  await page.getByRole('alert').filter({ hasText: 'has been changed since it was loaded' }).waitFor()
})

test('administrators see the names that other users may not read', async () => {
  await open('#/book?limit=1')
  await signIn('ann')
  await expectColumn('shelf_id', ['Top shelf 1'])
})
