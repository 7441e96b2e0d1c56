import type { BrowserContextOptions, Locator, Page } from 'playwright-core'
import type { World } from '../world/world'
import { barriers, eventually, Visitor } from './browser'
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

const { link, button, heading, request, expectColumn, expectNone, expectInput, signIn } = explorerPage(() => page)

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

test('a record shows the first records that refer to it, with links to all of them and to a new one', async () => {
  const paths = await open('#/writer/1')
  const list = page.getByRole('region', { name: 'Records of book' })
  await list.getByRole('link', { name: 'genre_id 100% true 1' }).first().waitFor()
  expect(await list.locator('tbody tr').count()).toBe(5)
  expect(paths.at(-1)).toBe('/api/book/?writer_id=1&limit=5&include=writer(fields:(name)),genre(fields:(meaning))')
  await link('New book').waitFor()
  expect(await barriers(page)).toEqual([])
  await link('More book records').click()
  await expectColumn('title', ['Book 00', 'Book 03'])
  expect(new URL(page.url()).hash).toBe('#/book?writer_id=1')
})

test('a record without records that refer to it has an empty list, and none of what the user may not read', async () => {
  await open('#/genre/2')
  await page.getByText('No records.').waitFor()
  await page.goto(`${world.url}/api/#/book/2`)
  await link('loan by book_id').waitFor()
  await expectNone(page.getByRole('region', { name: 'Records of loan' }))
})

test('a record shows the records of a relation to many by name', async () => {
  await open('#/country/2')
  await link('Portuguese').waitFor()
  expect(await barriers(page)).toEqual([])
  await link('Spain').click()
  await heading('country 1 Spain').waitFor()
  await page.getByRole('heading', { name: 'borders' }).waitFor()
  await page.getByText('None.', { exact: true }).first().waitFor()
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

const choose = (name: string): Locator => page.getByRole('combobox', { name })
// The header has options too.
const options = (): Locator => page.getByRole('main').getByRole('option')
const expectOptions = (texts: readonly string[]): Promise<void> =>
  eventually(async () => expect(await options().allInnerTexts()).toEqual(texts))

/** A search, its resource, the text that is typed, and the records that are offered. */
test.each([
  ['the search of the resource', 'writer_id', '7 peru', []],
  ['the search of the resource', 'writer_id', '7 chile', ['Writer 07 8', 'Writer 17 18', 'Writer 27 28']],
  ['a pattern, whose characters are escaped', 'genre_id', '0% T', ['100% true 1']],
  ['a pattern, whose characters are escaped', 'genre_id', '_', []],
])('a foreign key is found by %s: %s "%s"', async (_, name, text, offered) => {
  await open('#/book/+')
  await choose(name).fill(text)
  await expectOptions(offered)
  if (offered.length === 0) await page.getByText('has this name').waitFor()
})

test('a foreign key is chosen with the keyboard, and shows the name and the key', async () => {
  await open('#/book/+')
  await choose('writer_id').focus()
  await page.keyboard.press('ArrowDown')
  await expectOptions(Array.from({ length: 10 }, (_, index) => `Writer 0${index} ${index + 1}`))
  await page.keyboard.type('er 2')
  await eventually(async () => expect((await options().allInnerTexts())[0]).toBe('Writer 02 3'))
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowUp')
  await page.keyboard.press('ArrowUp')
  await page.keyboard.press('ArrowDown')
  await page.getByRole('option', { selected: true, name: 'Writer 02 3' }).waitFor()
  await page.keyboard.press('Enter')
  await expectNone(options())
  await expectInput(choose('writer_id'), 'Writer 02')
  await page.getByText('Key 3', { exact: true }).waitFor()
  await request().getByText('"writer_id":3').waitFor()
  await page.keyboard.press('ArrowDown')
  await options().first().waitFor()
  await page.keyboard.press('Escape')
  await expectNone(options())
  await expectInput(choose('writer_id'), 'Writer 02')
})

test.each([800, 400])(
  'the chosen one of ten records is scrolled into view, in a window of %i pixels',
  async (height) => {
    await open('#/book/+', { viewport: { width: 800, height } })
    await choose('writer_id').focus()
    await page.keyboard.press('ArrowDown')
    await options().first().waitFor()
    await page.keyboard.press('ArrowUp')
    await page.getByRole('option', { selected: true, name: 'Writer 09 10' }).waitFor()
    const hidden = `(() => {
    const { top, bottom, left } = document.querySelector('[role=option][aria-selected=true]').getBoundingClientRect()
    return [top + 2, bottom - 2].filter((y) => !document.elementFromPoint(left + 20, y)?.closest('[aria-selected=true]'))
  })()`
    await eventually(async () => expect(await page.evaluate(hidden)).toEqual([]))
  },
)

test('a foreign key is chosen with the mouse, by its whole name, or typed as a key', async () => {
  await open('#/book/31/edit')
  await expectInput(choose('writer_id'), 'Writer 00')
  await choose('writer_id').click()
  await page.getByRole('option', { name: 'Writer 02 3' }).click()
  await request().getByText('"writer_id":3').waitFor()
  await choose('writer_id').fill('writer 04')
  await expectOptions(['Writer 04 5'])
  await page.keyboard.press('Tab')
  await request().getByText('"writer_id":5').waitFor()
  // On a busy machine, the name is shown a moment later.
  await expectInput(choose('writer_id'), 'Writer 04')
  await choose('writer_id').fill('7')
  await page.keyboard.press('Tab')
  await expectInput(choose('writer_id'), 'Writer 06')
  await button('Save').click()
  await link('writer_id Writer 06 7').waitFor()
})

test('a text that cannot be a key is reported together with missing values, without a request', async () => {
  const paths = await open('#/book/+')
  await choose('writer_id').fill('zzz')
  await page.getByText('No writer has this name.').waitFor()
  await page.keyboard.press('Tab')
  await choose('genre_id').fill('1')
  await page.keyboard.press('Tab')
  await expectInput(choose('genre_id'), '100% true')
  await button('Create').click()
  const errors = page.locator('.field .error')
  await eventually(async () =>
    expect(await errors.allInnerTexts()).toEqual([
      'title is required',
      'pages is required',
      'price is required',
      'bought is required',
      'writer_id must be the key of a writer record, which is an integer',
    ]),
  )
  expect(paths.filter((path) => path.includes('id__in=zzz'))).toEqual([])
  expect(await barriers(page)).toEqual([])
})

test('the key of a record that the user may not read is typed', async () => {
  await open('#/book/+')
  await page.getByRole('textbox', { name: 'shelf_id' }).fill('1')
  await request().getByText('"shelf_id":1').waitFor()
  await page.route(/\/writer\//, (route) => route.fulfill({ status: 403, json: { title: 'No', detail: 'not these' } }))
  await choose('writer_id').click()
  await page.getByRole('textbox', { name: 'writer_id' }).fill('2')
  await request().getByText('"writer_id":2').waitFor()
})

const looks: readonly BrowserContextOptions[] = [
  { colorScheme: 'light' },
  { colorScheme: 'dark', viewport: { width: 320, height: 700 } },
]

test.each(looks)('axe finds no accessibility problem, and nothing is too wide: $colorScheme', async (look) => {
  const found: string[] = []
  await open('#/book/1/edit', look)
  await expectInput(choose('writer_id'), 'Writer 00')
  found.push(...(await barriers(page)))
  await choose('writer_id').click()
  await options().first().waitFor()
  await page.keyboard.press('ArrowDown')
  found.push(...(await barriers(page)))
  await page.goto(`${world.url}/api/#/book?include=writer(fields:(name,country))`)
  await button('Columns').click()
  await expectColumn('writer › country', ['Peru', 'Chile'])
  found.push(...(await barriers(page)))
  expect(found).toEqual([])
  expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0)
})

test('columns of related records can be shown and sorted, are in the URL, and stay on the next page', async () => {
  const paths = await open('#/book?limit=2')
  await button('Columns').click()
  await page.getByRole('group', { name: 'writer' }).getByRole('checkbox', { name: 'country' }).check()
  await page.getByRole('group', { name: 'writer' }).getByRole('checkbox', { name: 'name' }).check()
  await page.getByRole('group', { name: 'genre' }).getByRole('checkbox', { name: 'meaning' }).check()
  await expectColumn('writer › country', ['Peru', 'Chile'])
  await expectColumn('writer › name', ['Writer 00', 'Writer 01'])
  await expectColumn('genre › meaning', ['null', '100% true'])
  await expectColumn('writer_id', ['Writer 00 1', 'Writer 01 2'])
  await expectNone(page.getByRole('group', { name: 'shelf' }))
  const include = 'include=writer(fields:(country,name)),genre(fields:(meaning))'
  expect(paths.at(-1)).toBe(`/api/book/?limit=2&${include}`)
  const header = page.getByRole('columnheader', { name: 'writer › country' })
  await header.getByRole('button').click()
  await header.and(page.locator('[aria-sort=ascending]')).waitFor()
  await expectColumn('writer › country', ['Chile', 'Chile'])
  await link('Next').click()
  await page.getByText('Page 2').waitFor()
  await expectColumn('writer › country', ['Chile', 'Chile'])
  await page.reload()
  await expectColumn('writer › country', ['Chile', 'Chile'])
  expect(decodeURIComponent(new URL(page.url()).hash)).toContain(`&${include}`)
  await button('Columns').click()
  await page.getByRole('group', { name: 'writer' }).getByRole('checkbox', { name: 'country' }).uncheck()
  await expectNone(header)
})

/** Values of `include` in a URL, and the headers of the columns that they show. */
test.each([
  ['include=writer', ['writer › id', 'writer › name', 'writer › country', 'writer › born']],
  ['include=writer(fields:born)', ['writer › born']],
  ['include=writer(fields:(born),include:(books))', []],
  ['fields=title&include=genre(fields:meaning)', ['genre › meaning']],
])('?%s in the URL shows the columns of related records %j', async (query, columns) => {
  await open(`#/book?${query}`)
  await page.locator('[aria-busy=false]').or(page.getByRole('alert')).first().waitFor()
  const related = page.getByRole('columnheader').filter({ hasText: '›' })
  await eventually(async () => expect(await related.allInnerTexts()).toEqual(columns))
  await expectNone(page.getByRole('list', { name: 'Filters' }))
})

test('the fields that the URL selects are the only columns', async () => {
  await open('#/book?fields=title,writer_id')
  await expectColumn('writer_id', ['Writer 00 1'])
  await eventually(async () =>
    expect(await page.getByRole('columnheader').allInnerTexts()).toEqual(['id', 'title', 'writer_id']),
  )
})
