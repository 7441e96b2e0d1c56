import type { BrowserContextOptions, Page } from 'playwright-core'
import type { World } from '../world/world'
import { barriers, eventually, Visitor } from './browser'
import { explorerPage } from './explorer-page'
import { longText, openSampleSite } from './sample-site'

/** The explorer in windows of several sizes, in light and dark colours, and for screen readers. */

let world: World
let visitor: Visitor
let page: Page

beforeAll(async () => {
  world = await openSampleSite()
  visitor = await Visitor.arrive()
})
afterEach(async () => expect(await visitor.finish()).toEqual([]))
afterAll(async () => {
  await visitor.leave()
  await world.close()
})

const { link, button, heading, request, expectColumn, signIn } = explorerPage(() => page)

async function open(fragment: string, options?: BrowserContextOptions): Promise<void> {
  page = await visitor.open(`${world.url}/api/${fragment}`, options)
}

async function requireNoOverflow(): Promise<void> {
  expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0)
}

/** Views, their fragments and headings, and a text that they have when everything is loaded. */
const views: readonly (readonly [name: string, fragment: string, heading: string, text: string])[] = [
  ['the list of resources', '#/', 'Places', 'Choose what to look at.'],
  ['a list', '#/city?population__gte=100', 'city', 'Lisbon'],
  ['a record', '#/city/1', 'city 1 Lisbon', 'Portugal'],
  ['a form', '#/tale/+', 'New tale', 'text'],
  ['a refusal', '#/visit', 'visit', 'Sign in to see these records.'],
]

/** Shows all views, one after another in the same page. @param inspect is called for each of them */
async function showViews(look: BrowserContextOptions, inspect: (name: string) => Promise<void>): Promise<void> {
  await open('', look)
  for (const [name, fragment, title, text] of views) {
    await page.evaluate(`location.hash = ${JSON.stringify(fragment)}`)
    await heading(title).waitFor()
    await page.getByRole('main').getByText(text).first().waitFor()
    if (name === 'a list') await button('Add a filter').click()
    await inspect(name)
  }
}

test.each<BrowserContextOptions>([
  { colorScheme: 'light' },
  { colorScheme: 'dark', viewport: { width: 390, height: 844 } },
])('axe finds no accessibility problem: $colorScheme', async (look) => {
  const found: Record<string, readonly string[]> = {}
  await showViews(look, async (name) => {
    found[name] = await barriers(page)
  })
  await page.getByRole('banner').getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('dialog').waitFor()
  found['signing in'] = await barriers(page)
  expect(found).toEqual(Object.fromEntries(Object.keys(found).map((name) => [name, []])))
})

/** Widths of a phone. */
test.each([320, 375])('nothing is wider than a window of %d px', async (width) => {
  await showViews({ viewport: { width, height: 640 } }, requireNoOverflow)
})

test('in the window of a phone, the header has at most two rows', async () => {
  await open('#/city', { viewport: { width: 390, height: 844 }, timezoneId: 'Europe/Berlin' })
  await expectColumn('name', ['Lisbon'])
  const rows = async (): Promise<number> => {
    const middles = page.getByRole('banner').locator('> :visible:not(.skip, .spring)').all()
    const boxes = await Promise.all((await middles).map((one) => one.boundingBox()))
    return new Set(boxes.map((box) => box && Math.round(box.y + box.height / 2))).size
  }
  await eventually(async () => expect(await rows()).toBe(2))
  await signIn('ann')
  await button('Sign out').waitFor()
  expect(await rows()).toBe(2)
})

test('with a zoom of 200 %, the request does not cover the form', async () => {
  await open('#/tale/+', { viewport: { width: 590, height: 380 }, deviceScaleFactor: 2 })
  await heading('New tale').waitFor()
  await requireNoOverflow()
  expect((await request().boundingBox())?.y).toBeGreaterThan((await button('Create').boundingBox())?.y ?? 0)
})

test('a text of 10,000 characters is shortened in a table and complete in its record', async () => {
  await open('#/tale')
  await page.getByText(/^A word and then.*…$/).waitFor()
  await link('tale 1').click()
  await page.locator('dd .whole').last().waitFor()
  expect((await page.locator('dd .whole').last().innerText()).length).toBe(longText.length)
  await requireNoOverflow()
})

test('with a hundred fields only the table scrolls horizontally, not the page', async () => {
  await open('#/wide')
  await expectColumn('field99', ['value 99'])
  await requireNoOverflow()
  await link('wide 1').click()
  await heading('wide 1 value 0').waitFor()
  await eventually(async () => expect(await page.locator('dt').count()).toBe(101))
  await link('Edit').click()
  await page.getByLabel('field99', { exact: true }).fill('changed')
  await button('Save').click()
  await page.getByText('changed', { exact: true }).waitFor()
})
