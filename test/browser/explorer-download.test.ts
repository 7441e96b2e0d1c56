import { readFile } from 'node:fs/promises'
import type { Download, Page } from 'playwright-core'
import type { World } from '../world/world'
import { Visitor } from './browser'
import { explorerPage } from './explorer-page'
import { openLibrarySite } from './library-site'

/** CSV files of lists in the explorer. */

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

const { link, button, expectColumn, expectNone, signIn } = explorerPage(() => page)

async function open(fragment: string): Promise<void> {
  page = await visitor.open(`${world.url}/api/${fragment}`)
}

/** Name and lines of the file that an action downloads. */
async function downloaded(act: () => Promise<void>): Promise<readonly [string, ...(readonly string[])]> {
  const waiting = page.waitForEvent('download')
  await act()
  const file: Download = await waiting
  const text = await readFile(await file.path(), 'utf8')
  return [file.suggestedFilename(), ...text.trim().split('\r\n')]
}

test('a link downloads all records of a list with its filters, ordering and fields', async () => {
  const query = 'fields=title,pages&ordering=-pages&pages__gte=110&limit=2&page=2&count=exact&include=writer'
  await open(`#/book?${query}`)
  await expectColumn('title', ['Book 37'])
  const [name, header, first, ...others] = await downloaded(() => link('Download CSV').click())
  expect([name, header, first]).toEqual(['book.csv', 'id,title,pages', '40,Book 39,139'])
  expect(others).toHaveLength(29)
})

test('a signed-in user downloads with their credentials', async () => {
  await open('#/loan?limit=1')
  await expectNone(page.getByText('Download CSV'))
  await signIn('bob')
  await expectColumn('borrower', ['=Reader 0'])
  const lines = ['loan.csv', 'id,borrower,book_id', `1,'=Reader 0,1`, `2,'=Reader 1,1`]
  expect(await downloaded(() => button('Download CSV').click())).toEqual(lines)
  await button('Download CSV').waitFor()
})

/** What a download meets, and what the page says. */
test.each([
  ['is refused', { status: 429, json: { title: 'Busy', detail: 'try again later' } }, 'Busy: try again later'],
  ['is without rights', { status: 401, body: '' }, 'bob may not do this.'],
])('a download that %s reports the error', async (_, response, message) => {
  await open('#/loan')
  await signIn('bob')
  await expectColumn('borrower', ['=Reader 0'])
  await page.route(/format=csv/, (route) => route.fulfill(response))
  await button('Download CSV').click()
  await page.getByRole('alert').filter({ hasText: message }).waitFor()
  await button('Download CSV').waitFor()
})

test('a download that does not end can be cancelled, and one that breaks off saves nothing', async () => {
  await open('#/loan')
  await signIn('bob')
  await expectColumn('borrower', ['=Reader 0'])
  await page.evaluate(`
    const { fetch } = window
    window.fetch = (url, options) => {
      if (!String(url).includes('format=csv')) return fetch(url, options)
      const body = new ReadableStream({
        start(controller) {
          controller.enqueue(new TextEncoder().encode('id,'))
          const stop = () => controller.error(new TypeError('network error'))
          options.signal.addEventListener('abort', stop)
          window.breakOff = stop
        },
      })
      return Promise.resolve(new Response(body))
    }`)
  await button('Download CSV').click()
  await page.getByText('Downloading…').waitFor()
  await button('Cancel the download').click()
  await button('Download CSV').waitFor()
  await expectNone(page.getByRole('alert'))
  await button('Download CSV').click()
  await page.getByText('Downloading…').waitFor()
  await page.evaluate('breakOff()')
  await page.getByRole('alert').filter({ hasText: 'Nothing has been saved.' }).waitFor()
})

test('a resource without this format has no download', async () => {
  await open('#/writer')
  await expectColumn('name', ['Writer 00'])
  await expectNone(page.getByText('Download CSV'))
})
