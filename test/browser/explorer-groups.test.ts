import type { BrowserContextOptions, Locator, Page } from 'playwright-core'
import type { World } from '../world/world'
import { barriers, eventually, Visitor } from './browser'
import { explorerPage } from './explorer-page'
import { openLibrarySite } from './library-site'

/** Groups of records in the explorer, with functions of their values. */

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

const { link, button, heading, expectColumn, expectNone } = explorerPage(() => page)
const select = (name: string): Locator => page.getByRole('combobox', { name })
const chart = (): Locator => page.getByRole('img', { name: /^Bar chart/ })
const bars = (): Locator => chart().locator('.ct-bar')
const hash = (): string => decodeURIComponent(new URL(page.url()).hash)

async function open(fragment: string, options?: BrowserContextOptions): Promise<void> {
  page = await visitor.open(`${world.url}/api/${fragment}`, options)
}

async function add(name: string, option: string): Promise<void> {
  await select(name).selectOption(option)
  await button(`Add: ${name}`).click()
}

test('the filtered records of a list are grouped by a field, with names and a chart', async () => {
  await open('#/book?pages__gte=110&ordering=title&page=2&fields=title&limit=20')
  await link('Group the records').click()
  await expectColumn('count', ['30'])
  expect(hash()).toBe('#/book?pages__gte=110&limit=20&aggregate=count')
  await expectNone(chart())
  await add('Group by', 'writer_id')
  await expectColumn('writer_id', ['Writer 00 1', 'Writer 01 2', 'Writer 02 3'])
  await expectColumn('count', ['10', '10', '10'])
  await add('Function', 'sum of pages')
  await button('Remove count').click()
  await expectColumn('sum of pages', ['1255', '1235', '1245'])
  expect(hash()).toBe('#/book?pages__gte=110&limit=20&aggregate=pages__sum&by=writer_id')
  await eventually(async () => expect(await bars().count()).toBe(3))
  await chart().getByText('Writer 02', { exact: true }).waitFor()
  await link('Show the records').click()
  await expectColumn('title', ['Book 10'])
  expect(hash()).toBe('#/book?pages__gte=110&limit=20')
})

/** Fields to group by, a function, and the first row. */
test.each([
  ['bought by year', 'average of pages', ['2020-01-01', '118']],
  ['writer › country', 'minimum price', ['Chile', '1.50']],
  ['genre_id', 'different values of writer_id', ['null', '3']],
])('groups by "%s" have the %s', async (key, measure, [value = '', result = '']) => {
  await open('#/book?aggregate=count')
  await add('Group by', key)
  await add('Function', measure)
  await expectColumn(key, [value])
  await expectColumn(measure, [result])
  await eventually(async () => expect(await bars().count()).toBeGreaterThan(1))
})

test('groups by two fields are sorted and paged, and the address opens them again', async () => {
  await open('#/book?aggregate=pages__max&by=genre,bought__month&limit=5')
  await expectColumn('bought by month', ['2020-01-01', '2020-02-01'])
  const header = page.getByRole('columnheader', { name: 'maximum pages' })
  await header.getByRole('button').dblclick()
  await expectColumn('maximum pages', ['139', '138', '137', '136', '135'])
  await expectColumn('genre', ['100% true 1', 'null'])
  await link('Next').click()
  await expectColumn('maximum pages', ['134'])
  await page.reload()
  await expectColumn('maximum pages', ['134'])
  await expectNone(button('Count'))
  await page.getByLabel('Groups per page').waitFor()
  // The ordering of a function that is removed would be an error.
  await add('Function', 'count')
  await button('Remove maximum pages').click()
  await expectColumn('count', ['2'])
  expect(hash()).toBe('#/book?aggregate=count&by=genre,bought__month&limit=5')
})

test('the chart shows numbers only, and the error of the service is shown', async () => {
  await open('#/book?aggregate=bought__min&by=writer')
  await expectColumn('minimum bought', ['2020-01-15'])
  await expectNone(chart())
  await open('#/book?aggregate=title__sum')
  await page.getByRole('alert').filter({ hasText: 'title' }).waitFor()
})

test('filters on groups are shown and can be removed', async () => {
  await open('#/book?aggregate=count&by=writer&count__gte=14')
  await expectColumn('count', ['14'])
  await eventually(async () => expect(await page.locator('tbody tr').count()).toBe(1))
  await button('Remove the filter count__gte = 14').click()
  await eventually(async () => expect(await page.locator('tbody tr').count()).toBe(3))
})

test('a resource without aggregates cannot be grouped', async () => {
  await open('#/writer')
  await expectColumn('name', ['Writer 00'])
  await expectNone(link('Group the records'))
})

test('groups are made with the keyboard', async () => {
  await open('#/book?aggregate=count')
  await heading('book').waitFor()
  await select('Group by').focus()
  await page.keyboard.type('writer_id')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await expectColumn('writer_id', ['Writer 00 1'])
  await button('Remove writer_id').focus()
  await page.keyboard.press('Enter')
  await expectColumn('count', ['40'])
})

test.each<BrowserContextOptions>([
  { colorScheme: 'light' },
  { colorScheme: 'dark', viewport: { width: 320, height: 700 } },
])('axe finds no accessibility problem, and nothing is too wide: $colorScheme', async (look) => {
  await open('#/book?aggregate=pages__sum,count&by=writer,genre&pages__gte=1', look)
  await eventually(async () => expect(await bars().count()).toBe(6))
  await chart().getByText('Writer 02 · null').waitFor()
  expect(await barriers(page)).toEqual([])
  expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0)
})
