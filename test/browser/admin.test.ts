import { execFileSync } from 'node:child_process'
import { resolve } from 'node:path'
import type { BrowserContextOptions, Locator, Page } from 'playwright-core'
import { staticFiles } from '../../sample/static-files'
import { send } from '../client'
import type { World } from '../world/world'
import { eventually, Visitor } from './browser'
import { openSampleSite } from './sample-site'

/** Use of the react-admin application on the sample (sample/admin) in a browser. */

const root = resolve(__dirname, '../..')
let world: World
let visitor: Visitor
let page: Page

/** Builds the application, and installs its packages if necessary. */
beforeAll(async () => {
  const env = { ...process.env, NODE_ENV: 'production' }
  execFileSync('npm', ['run', '--silent', 'admin:build'], { cwd: root, stdio: 'inherit', env })
  const files = staticFiles('/admin/', resolve(root, 'sample/admin/dist'), 'sample:admin')
  world = await openSampleSite({ mount: { live: true }, before: (app) => void app.use(files) })
  visitor = await Visitor.arrive()
}, 300_000)
afterEach(async () => expect(await visitor?.finish()).toEqual([]))
afterAll(async () => {
  await visitor?.leave()
  await world?.close()
})

const button = (name: string): Locator => page.getByRole('button', { name, exact: true })
const field = (name: string): Locator => page.getByLabel(name, { exact: true })
const notice = (text: string): Locator => page.getByRole('alert').getByText(text)
const option = (name: string): Locator => page.getByRole('option', { name, exact: true })

async function signIn(username: string, password = username): Promise<void> {
  await page.getByRole('textbox', { name: 'Username' }).fill(username)
  await page.getByRole('textbox', { name: 'Password' }).fill(password)
  await button('Sign in').click()
}

/** Opens a path of the application in a new page and signs in. */
async function open(username: string, path: string, options?: BrowserContextOptions): Promise<void> {
  page = await visitor.open(`${world.url}/admin/#${path}`, options)
  await signIn(username)
  await page.getByRole('button', { name: 'Profile' }).waitFor()
}

/** Waits until the cells of a column have these texts. */
async function expectColumn(index: number, texts: readonly string[]): Promise<void> {
  const cells = page.locator(`tbody tr td:nth-child(${index})`)
  await eventually(async () => expect(await cells.allInnerTexts()).toEqual(texts))
}

const largest = ['Tokyo', 'Berlin', 'Madrid', 'Rome', 'Paris', 'Hamburg', 'Lisbon', 'Village 23']

test('signing in with a wrong password shows a message, with the right password it succeeds', async () => {
  page = await visitor.open(`${world.url}/admin/`)
  await signIn('bob', 'wrong')
  await notice('The username or the password is wrong').waitFor()
  await signIn('bob')
  await page.getByRole('button', { name: 'Profile' }).getByText('bob').waitFor()
})

test('a list shows its records and the names of the records that they refer to', async () => {
  await open('bob', '/city')
  await expectColumn(1, [...largest, 'Village 22', 'Village 21'])
  await expectColumn(3, ['Japan', 'Germany', 'Spain', 'Italy', 'France', 'Germany', ...Array(4).fill('Portugal')])
})

test('a list is filtered by a part of a name, by a number and by a field of a related record', async () => {
  await open('bob', '/city')
  await field('Name').fill('LIS')
  await expectColumn(1, ['Lisbon'])
  await field('Name').fill('')
  // react-admin delays the request after a change, and forgets filters that are added in the meantime.
  await expectColumn(1, [...largest, 'Village 22', 'Village 21'])
  await button('Add filter').click()
  await page.getByRole('menuitemcheckbox', { name: 'Population at least' }).click()
  await field('Population at least').fill('2000000')
  await expectColumn(1, ['Tokyo', 'Berlin', 'Madrid', 'Rome', 'Paris'])
  await button('Add filter').click()
  await page.getByRole('menuitemcheckbox', { name: 'Region' }).click()
  await field('Region').click()
  await option('Asia').click()
  await expectColumn(1, ['Tokyo'])
})

test('a click on a column sorts by it, a second click in descending order', async () => {
  await open('bob', '/country')
  await expectColumn(1, ['France', 'Germany', 'Italy', 'Japan', 'Portugal', 'Spain'])
  await page.getByText('Area', { exact: true }).click()
  await expectColumn(4, ['1,000', '1,000', '1,000', '1,000', '92,090.5', '505,992'])
  await page.getByText('Area', { exact: true }).click()
  await expectColumn(4, ['505,992', '92,090.5', '1,000', '1,000', '1,000', '1,000'])
})

test('the pagination shows the number of records', async () => {
  await open('bob', '/city')
  await page.getByText('1-10 of 31', { exact: true }).waitFor()
  for (const range of ['11-20 of 31', '21-30 of 31', '31-31 of 31']) {
    await button('Go to next page').click()
    await page.getByText(range, { exact: true }).waitFor()
  }
  await expectColumn(1, ['Village 0'])
  await button('Go to previous page').click()
  await page.getByText('21-30 of 31', { exact: true }).waitFor()
})

test('editing a record sends only the changed fields', async () => {
  await open('bob', '/visit/1')
  const sent = page.waitForRequest((request) => request.method() === 'PUT')
  await field('Note').fill('Rain, and then sun')
  await button('Save').click()
  const request = await sent
  expect(request.postDataJSON()).toEqual({ note: 'Rain, and then sun' })
  expect(await request.headerValue('If-Match')).toMatch(/^"/)
  await page.getByRole('cell', { name: 'Rain, and then sun' }).waitFor()
})

test('a reference is selected by a part of its name, and times are UTC whatever the time zone of the browser is', async () => {
  await open('bob', '/visit/create', { timezoneId: 'America/New_York', locale: 'en-US' })
  await field('City').fill('amb')
  await option('Hamburg').click()
  await field('Rating').fill('4')
  await field('Visited (UTC)').fill('2025-05-17T09:30')
  await button('Save').click()
  await page.getByText('5/17/2025, 5:30:00 AM').waitFor()
  const [visit] = await world.sql('SELECT "visited", "cityId" FROM "visit" WHERE "rating" = 4')
  expect(visit).toMatchObject({ visited: expect.stringContaining('2025-05-17 09:30:00'), cityId: 6 })
})

test('the records that refer to a record are shown as a list with pages', async () => {
  await open('bob', '/country/2')
  await expectColumn(1, ['Lisbon', 'Village 23', 'Village 22', 'Village 21', 'Village 20'])
  await button('Go to next page').click()
  await expectColumn(1, ['Village 19', 'Village 18', 'Village 17', 'Village 16', 'Village 15'])
})

test('a refused value shows its message at the field, and a corrected value is saved', async () => {
  await open('bob', '/visit/2')
  await field('Rating').fill('99999')
  await button('Save').click()
  await page.getByText('must be an integer from -32768 to 32767', { exact: true }).waitFor()
  await notice('rating must be an integer from -32768 to 32767').waitFor()
  await field('Rating').and(page.locator('[aria-invalid=true]')).waitFor()
  await field('Rating').fill('5')
  await button('Save').click()
  await page.getByRole('cell', { name: '5', exact: true }).waitFor()
})

test('a list shows the changes of other users', async () => {
  await open('bob', '/visit')
  await page.getByRole('cell', { name: 'Visit 3' }).waitFor()
  const { status } = await send(world.url, 'PUT /api/visit/3/', { as: 'ann', body: { note: 'Changed by ann' } })
  expect(status).toBe(200)
  await page.getByRole('cell', { name: 'Changed by ann' }).waitFor()
  await world.sql(`UPDATE "visit" SET "note" = 'Visit 3' WHERE "id" = 3`)
})

test("a refused write on another user's record shows the server's message", async () => {
  await open('bob', '/visit/3')
  await field('Note').fill('Mine')
  await button('Save').click()
  await notice('only the owner may change or delete this visit').waitFor()
  expect(await world.sql('SELECT "note" FROM "visit" WHERE "id" = 3')).toEqual([{ note: 'Visit 3' }])
})

test('a 403 on a resource for administrators does not sign the user out', async () => {
  await open('bob', '/user')
  await notice('Only some users may do this').waitFor()
  await page.getByRole('menuitem', { name: 'Cities' }).click()
  await expectColumn(1, [...largest, 'Village 22', 'Village 21'])
})

test('an administrator can change a city', async () => {
  await open('ann', '/city/1')
  await field('Population').fill('545800')
  await button('Save').click()
  await page.getByRole('cell', { name: '545,800' }).waitFor()
})

test('Refine, which needs totals, reads all pages up to the last', async () => {
  page = await visitor.open(`${world.url}/admin/refine.html`)
  const items = page.getByRole('listitem')
  await eventually(async () => expect(await items.allInnerTexts()).toEqual(['Berlin', 'Madrid', 'Rome']))
  const villages = [22, 19, 16, 13, 10, 7, 4, 1].map((number) => `Village ${number}`)
  for (const name of ['Paris', ...villages]) {
    await button('More').click()
    await items.getByText(name, { exact: true }).waitFor()
  }
  await button('More').and(page.locator(':disabled')).waitFor()
})

test('Refine shows the changes of other users', async () => {
  page = await visitor.open(`${world.url}/admin/refine.html`)
  const items = page.getByRole('listitem')
  await items.getByText('Berlin').waitFor()
  const [berlin] = await world.sql(`SELECT "id" FROM "city" WHERE "name" = 'Berlin'`)
  await send(world.url, `PUT /api/city/${berlin?.['id']}/`, { as: 'ann', body: { name: 'Changed' } })
  await items.getByText('Changed').waitFor()
})
