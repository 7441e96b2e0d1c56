import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { BrowserContextOptions, Locator, Page } from 'playwright-core'
import { userRule } from 'typeorm-resources'
import { send } from '../client'
import type { World } from '../world/world'
import { barriers, eventually, Visitor } from './browser'
import { explorerPage } from './explorer-page'
import { openSampleSite } from './sample-site'

/** Use of the explorer, the page at the path of the mount, with mouse, keyboard and screen reader. */

let world: World
let visitor: Visitor
let page: Page
/** Sites of a single test, which are closed after it. */
const closing: World[] = []

beforeAll(async () => {
  world = await openSampleSite()
  visitor = await Visitor.arrive()
})
afterEach(async () => {
  expect(await visitor.finish()).toEqual([])
  for (const other of closing.splice(0)) await other.close()
})
afterAll(async () => {
  await visitor.leave()
  await world.close()
})

async function open(fragment = '', options?: BrowserContextOptions): Promise<void> {
  page = await visitor.open(`${world.url}/api/${fragment}`, options)
}

const {
  link,
  button,
  heading,
  resource,
  request,
  expectColumn,
  expectLength,
  expectNone,
  expectInput,
  copied,
  signIn,
} = explorerPage(() => page)

/** What an anonymous visitor sees instead of records that only users may read. */
const closed = (): Locator => page.getByText('Sign in to see these records.', { exact: true })

/** Fills and submits the open form of a filter. */
async function submitFilter(field: string, comparison: string, value: string): Promise<void> {
  await page.getByRole('combobox', { name: 'Field' }).selectOption(field)
  await page.getByRole('combobox', { name: 'Comparison' }).selectOption(comparison)
  await page.getByLabel('Value', { exact: true }).fill(value)
  await button('Filter').click()
}

test('selecting a resource shows its records in a table', async () => {
  await open()
  await heading('Places').waitFor()
  await resource('country').click()
  await heading('country').waitFor()
  await expectColumn('name', ['Spain', 'Portugal', 'Japan'])
  await resource('country').and(page.locator('[aria-current=page]')).waitFor()
})

test('a link that is followed before the page is painted is not lost', async () => {
  await open('#/country')
  await page.addInitScript({
    content: `new MutationObserver((_, observer) => {
      if (document.querySelector('main') === null) return
      observer.disconnect()
      location.hash = '#/city'
    }).observe(document, { childList: true, subtree: true })`,
  })
  await page.reload()
  await heading('city').waitFor()
})

test('clicks on a column sort ascending, then descending, then not at all', async () => {
  await open('#/city')
  await expectColumn('name', ['Lisbon', 'Berlin'])
  const header = page.getByRole('columnheader', { name: 'population' })
  const click = (): Promise<void> => header.getByRole('button').click()
  await click()
  await expectColumn('name', ['Village 0', 'Village 1'])
  await header.and(page.locator('[aria-sort=ascending]')).waitFor()
  await click()
  await expectColumn('name', ['Tokyo', 'Berlin'])
  await header.and(page.locator('[aria-sort=descending]')).waitFor()
  await click()
  await expectColumn('name', ['Lisbon', 'Berlin'])
})

test('columns keep their widths when other records are shown, and the rows stay until these are loaded', async () => {
  await open('#/city')
  await expectColumn('name', ['Lisbon', 'Berlin'])
  const lefts = (): Promise<unknown> =>
    page.evaluate(
      `[...document.querySelectorAll('th')].map((header) => Math.round(header.getBoundingClientRect().left))`,
    )
  const before = await lefts()
  let release = (): void => undefined
  const released = new Promise<void>((resolve) => (release = resolve))
  await page.route(/ordering=population/, (route) => released.then(() => route.continue()))
  await page.getByRole('columnheader', { name: 'population' }).getByRole('button').click()
  await page.locator('[aria-busy=true]').getByText('Lisbon').waitFor()
  release()
  await expectColumn('name', ['Village 0', 'Village 1'])
  expect(await lefts()).toEqual(before)
})

test('headings of columns that can be sorted have an arrow, and all others have none', async () => {
  await open('#/city?ordering=-name')
  await expectColumn('name', ['Village 9'])
  const arrow = (name: string): Promise<unknown> =>
    page.evaluate(
      `getComputedStyle(document.evaluate("//th[.='${name}']/button", document).iterateNext(), '::after').content`,
    )
  expect([await arrow('population'), await arrow('name')]).toEqual(['"↕" / ""', '"▼" / ""'])
})

test('numbers have separators, but keys have none, and the name of a record is a link to it', async () => {
  await open('#/city?ordering=-population')
  await expectColumn('population', ['8,336,599', '3,426,354'])
  await expectColumn('id', ['7', '2'])
  await link('Tokyo').click()
  await heading('city 7 Tokyo').waitFor()
  await page.getByText('8,336,599').waitFor()
})

/** Views, the fragments of their URLs, users, and what they see instead of records that they may not read. */
test.each([
  ['#/visit', undefined, 'Sign in to see these records.'],
  ['#/visit/1', undefined, 'Sign in to see these records.'],
  ['#/visit/1/edit', undefined, 'Sign in to see these records.'],
  ['#/user', undefined, 'Sign in to see these records.'],
  ['#/user', 'bob', 'Only administrators may see these records.'],
  ['#/user/1', 'bob', 'Only administrators may see these records.'],
  ['#/visit/3', 'bob', 'Only its owner may change it.'],
])('%s as %s asks the service for nothing that the user may not read', async (fragment, as, text) => {
  await open()
  await heading('Places').waitFor()
  const refused: string[] = []
  page.on('response', (response) => response.status() >= 400 && refused.push(response.url()))
  if (as !== undefined) await signIn(as)
  await page.evaluate(`location.hash = ${JSON.stringify(fragment)}`)
  await page.getByText(text, { exact: true }).waitFor()
  await page.waitForLoadState('networkidle')
  expect(refused).toEqual([])
  await eventually(async () =>
    expect(await page.getByRole('button', { name: 'Sign in' }).count()).toBe(as === undefined ? 1 : 0),
  )
})

test('users whose password has been changed are told so', async () => {
  const own = await openSampleSite()
  closing.push(own)
  page = await visitor.open(`${own.url}/api/#/user/2`)
  await signIn('bob')
  await page.getByText('Only administrators may see these records.').waitFor()
  await send(own.url, 'PUT /api/user/2/', { as: 'ann', body: { password: 'another' } })
  await resource('visit').click()
  const message = 'The service no longer accepts the password of bob, which may have been changed.'
  await page.getByRole('alert').getByText(message).waitFor()
  await button('Sign in again').click()
  await page.getByLabel('Password').waitFor()
})

/** Views that are loading: the fragments of their URLs, and their requests. */
test.each([
  ['#/city', /city/],
  ['#/city/1', /city.1/],
])('%s says that it is loading, and after a failure tries again', async (fragment, path) => {
  await open()
  await heading('Places').waitFor()
  let release = (): void => undefined
  const released = new Promise<void>((resolve) => (release = resolve))
  await page.route(path, (route) => released.then(() => route.fulfill({ status: 503, json: { title: 'Too busy' } })))
  await page.evaluate(`location.hash = ${JSON.stringify(fragment)}`)
  await page.getByText('Loading…').waitFor()
  expect(await barriers(page)).toEqual([])
  // The browser logs the status 503 as an error. The page has to show it.
  page.removeAllListeners('console')
  release()
  await page.getByRole('alert').filter({ hasText: 'Too busy' }).waitFor()
  await page.unroute(path)
  await button('Try again').click()
  await page.getByText('Lisbon').first().waitFor()
  await expectNone(page.getByRole('alert'))
})

test('a view that could not be loaded offline is loaded when there is a connection again', async () => {
  await open()
  await heading('Places').waitFor()
  page.removeAllListeners('console')
  await page.context().setOffline(true)
  await resource('city').click()
  await page.getByRole('alert').filter({ hasText: 'The service cannot be reached.' }).waitFor()
  await page.context().setOffline(false)
  await expectColumn('name', ['Lisbon'])
})

test('a page that is printed has the records, and nothing that only a screen needs', async () => {
  await open('#/city')
  await expectColumn('name', ['Lisbon'])
  await page.emulateMedia({ media: 'print' })
  for (const hidden of [resource('city'), request(), button('Add a filter'), link('Next')])
    expect(await hidden.isVisible()).toBe(false)
  expect(await link('Lisbon').isVisible()).toBe(true)
  expect(await heading('city').isVisible()).toBe(true)
})

test('a double click on a column sorts descending', async () => {
  await open('#/city')
  await page.getByRole('columnheader', { name: 'population' }).getByRole('button').dblclick()
  await expectColumn('name', ['Tokyo', 'Berlin'])
})

test('a list can be sorted by a field of a related record', async () => {
  await open('#/city')
  await page.getByRole('combobox', { name: 'Order by' }).selectOption('country › name')
  await page.getByRole('checkbox', { name: 'Descending' }).check()
  await expectColumn('name', ['Madrid'])
  expect(new URL(page.url()).hash).toBe('#/city?ordering=-country__name')
  await page.getByRole('combobox', { name: 'Order by' }).selectOption('id')
  await expectColumn('name', ['Village 23', 'Village 22'])
  expect(new URL(page.url()).hash).toBe('#/city?ordering=-id')
  await page.getByRole('checkbox', { name: 'Descending' }).uncheck()
  await expectColumn('name', ['Lisbon', 'Berlin'])
  expect(new URL(page.url()).hash).toBe('#/city')
  await page.getByRole('checkbox', { name: 'Descending' }).check()
  await expectColumn('name', ['Village 23', 'Village 22'])
})

test('filters consist of field, operator and value, may follow relations, and can be removed one by one', async () => {
  await open('#/city')
  await button('Add a filter').click()
  await submitFilter('population', '≥', '2000000')
  await expectColumn('name', ['Berlin', 'Madrid', 'Rome', 'Paris', 'Tokyo'])
  await submitFilter('country › region', '=', 'Asia')
  await expectColumn('name', ['Tokyo'])
  await expectLength(1)
  await button('Remove the filter population ≥ 2000000').click()
  await button('Remove the filter country › region = Asia').click()
  await expectColumn('name', ['Lisbon', 'Berlin'])
})

/** Fields, comparisons and values, the parameter that is sent, how the filter is shown, and the records that it finds. */
test.each([
  ['name', 'contains', 'oky', 'name__ilike=%25oky%25', 'name contains oky', ['Tokyo']],
  ['name', 'contains', '0%_', 'name__ilike=%250%5C%25%5C_%25', 'name contains 0%_', []],
  ['name', 'like, any case', '%lin', 'name__ilike=%25lin', 'name like, any case %lin', ['Berlin']],
  ['population', '>', '8000000', 'population__gt=8000000', 'population > 8000000', ['Tokyo']],
] as const)('the filter "%s %s %s" is the parameter %s, and can be changed', async (...row) => {
  const [field, comparison, value, parameter, words, found] = row
  await open('#/city')
  await button('Add a filter').click()
  // The usual comparison of a text.
  await page.getByRole('combobox', { name: 'Field' }).selectOption('name')
  await expectInput(page.getByRole('combobox', { name: 'Comparison' }), 'contains')
  await submitFilter(field, comparison, value)
  await button(`Remove the filter ${words}`).waitFor()
  expect(new URL(page.url()).hash).toBe(`#/city?${parameter}`)
  await expectLength(found.length)
  await expectColumn('name', found)
  await button(`Change the filter ${words}`).click()
  await expectInput(page.getByLabel('Value', { exact: true }), value)
  await page
    .getByRole('combobox', { name: 'Comparison' })
    .getByRole('option', { name: comparison, selected: true })
    .waitFor({ state: 'attached' })
  await page.getByRole('combobox', { name: 'Field' }).selectOption('name')
  await page.getByRole('combobox', { name: 'Comparison' }).selectOption('=')
  await page.getByLabel('Value', { exact: true }).fill('Rome')
  await button('Change').click()
  await expectColumn('name', ['Rome'])
  expect(new URL(page.url()).hash).toBe('#/city?name=Rome')
})

test('a filter can have alternatives, one of which must hold', async () => {
  await open('#/city')
  await button('Add a filter').click()
  await submitFilter('name', '=', 'Lisbon')
  await button('Or another filter instead of name = Lisbon').click()
  await submitFilter('name', 'is one of', 'Rome,Tokyo')
  await expectColumn('name', ['Lisbon', 'Rome', 'Tokyo'])
  await button('Or another filter instead of name = Lisbon or name is one of Rome,Tokyo').click()
  await submitFilter('country › name', '=', 'Spain')
  await page.getByText('Madrid', { exact: true }).waitFor()
  await expectLength(4)
  await button('Remove the filter name = Lisbon or name is one of Rome,Tokyo or country › name = Spain').click()
  await expectColumn('name', ['Lisbon', 'Berlin'])
})

test('the records of a list are counted only on request', async () => {
  await open('#/city?population__gte=2000000&limit=2')
  await button('Count').click()
  await page.getByText('5 records', { exact: true }).waitFor()
  await link('Next').click()
  await page.getByText('Page 2').waitFor()
  await page.getByText('5 records', { exact: true }).waitFor()
})

test('the error message of the service for a wrong filter is shown', async () => {
  await open('#/city')
  await button('Add a filter').click()
  await submitFilter('population', '>', 'many')
  await page.getByRole('alert').filter({ hasText: 'population' }).waitFor()
  // The records have not been counted.
  await expectNone(page.getByText('No records.'))
})

test('a filter that the service does not support can be removed', async () => {
  await open('#/city?populatoin=3')
  await page.getByRole('alert').filter({ hasText: 'populatoin' }).waitFor()
  await button('Remove the filter populatoin = 3').click()
  await expectColumn('name', ['Lisbon', 'Berlin'])
})

test('links lead to the next and the previous page, and the number of records per page can be chosen', async () => {
  await open('#/city?ordering=population')
  await expectColumn('name', ['Village 0'])
  await link('Next').click()
  await page.getByText('Page 2').waitFor()
  await expectColumn('name', ['Village 20'])
  await link('Previous').click()
  await expectColumn('name', ['Village 0'])
  await page.getByRole('combobox', { name: 'Records per page' }).selectOption('5')
  await expectLength(5)
})

test('a record links to the record of its foreign key and to the records that refer to it', async () => {
  await open('#/city')
  await link('city 1').click()
  await heading('city 1 Lisbon').waitFor()
  await link('country_id Portugal 2').click()
  await heading('country 2 Portugal').waitFor()
  await link('city by country_id').click()
  await expectColumn('name', ['Lisbon', 'Village 0'])
})

test('signing in with a wrong password shows a message; with the right password the user sees their own records', async () => {
  await open('#/visit')
  await closed().waitFor()
  await signIn('bob', 'wrong')
  await page.getByRole('alert').filter({ hasText: 'is wrong' }).waitFor()
  await page.getByRole('dialog').getByLabel('Password').fill('bob')
  await page.getByRole('dialog').getByRole('button', { name: 'Sign in' }).click()
  await expectColumn('note', ['Visit 1', 'Visit 2'])
  await button('Sign out').click()
  await closed().waitFor()
})

test('a record can be created, changed and deleted, and refused values are reported at their fields', async () => {
  await open('#/city/1')
  await signIn('bob')
  await link('New visit').click()
  await heading('New visit').waitFor()
  await expectInput(page.getByRole('combobox', { name: 'city_id' }), 'Lisbon')
  await page.getByLabel('rating').fill('many')
  await button('Create').click()
  await page.getByText('rating must be', { exact: false }).waitFor()
  await page.getByLabel('rating').and(page.locator('[aria-invalid=true]')).waitFor()
  await page.getByLabel('rating').fill('4')
  await page.getByLabel('note').fill('By tram')
  await button('Create').click()
  await heading(/^visit \d+/).waitFor()
  await page.getByText('By tram').waitFor()
  await link('Edit').click()
  await page.getByLabel('note').fill('By tram and on foot')
  await button('Save').click()
  await page.getByText('By tram and on foot').waitFor()
  const id = new URL(page.url()).hash.split('/').at(-1)
  await button('Delete').click()
  await button('Yes, delete').click()
  await heading('visit').waitFor()
  expect((await send(world.url, `GET /api/visit/${id}/`, { as: 'bob' })).status).toBe(404)
})

test('actions that the access rule or the owner restriction forbids are not offered', async () => {
  await open('#/language/1')
  await heading('language 1 Portuguese').waitFor()
  await expectNone(page.getByRole('link', { name: /^(Edit|New)/ }))
  await page.goto(`${world.url}/api/#/city/1`)
  await button('Sign in to change it').waitFor()
  await signIn('bob')
  await page.goto(`${world.url}/api/#/visit/3`)
  await page.getByText('Only its owner may change it.').waitFor()
  await expectNone(button('Delete'))
  await page.goto(`${world.url}/api/#/city/1`)
  await page.getByText('Only administrators may change it.').waitFor()
  await link('New visit').waitFor()
  await page.goto(`${world.url}/api/#/city`)
  await expectColumn('name', ['Lisbon', 'Berlin'])
  await expectNone(link('New city'))
  await button('Sign out').click()
  await button('Sign in to add a city').waitFor()
})

test('null is shown, kept and can be set', async () => {
  await open('#/country/2')
  await signIn('ann')
  await link('Edit').click()
  const isNull = page.getByLabel('null for capital')
  await isNull.and(page.locator(':checked')).waitFor()
  await page.getByLabel('capital', { exact: true }).fill('Lisbon')
  await button('Save').click()
  await page.locator('dl').getByText('Lisbon', { exact: true }).waitFor()
  await link('Edit').click()
  await isNull.check()
  await button('Save').click()
  await page.locator('dl').getByText('null').waitFor()
})

test('a record that requires If-Match can be changed and deleted', async () => {
  await open('#/mark/50%25')
  await signIn('bob')
  await link('Edit').click()
  // A text of digits stays text.
  await expectInput(page.getByLabel('extra'), '"7"')
  await page.getByLabel('name').fill('')
  await page.getByLabel('name').fill('Changed')
  await button('Save').click()
  await heading('mark 50% Changed').waitFor()
  await button('Delete').click()
  await button('Yes, delete').click()
  await heading('mark').waitFor()
  expect((await send(world.url, 'GET /api/mark/50%25/')).status).toBe(404)
})

test('the curl command of a change contains If-Match', async () => {
  await open('#/mark/+')
  await page.goto(`${world.url}/api/#/mark/a%2Fb/edit`)
  await page.getByLabel('name').fill('Changed')
  await button('Save').click()
  await request()
    .getByText(/^curl -X PUT -H 'If-Match: "[^"]+"' /)
    .waitFor()
})

test('the request body is shown while it is edited', async () => {
  await open('#/tale/+')
  await page.getByLabel('text').fill('Once')
  await request()
    .getByText(/^curl -X POST .* '\{"text":"Once"\}' /)
    .waitFor()
})

test('invalid JSON is not stored as text, and an emptied input is left out of the body', async () => {
  await open('#/mark/+')
  await page.goto(`${world.url}/api/#/mark/key-${'x'.repeat(30)}-0/edit`)
  await signIn('bob')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.getByLabel('extra').fill('{water: 3}')
  await button('Save').click()
  await page.getByText('extra must be JSON; strings need double quotes').waitFor()
  await page.getByLabel('extra').fill('{ "water": 3 }')
  await button('Save').click()
  await page.getByText('"water": 3').waitFor()
  await page.goto(`${world.url}/api/#/visit/+?city_id=1&rating=4`)
  await page.getByLabel('visited').fill('2024-01-01T10:00:00')
  await page.getByLabel('visited').fill('')
  await button('Create').click()
  await heading(/^visit \d+/).waitFor()
})

test('signing in during an edit keeps the edited values', async () => {
  await open('#/city/1/edit')
  await page.getByLabel('name').fill('Lisboa')
  await button('Save').click()
  await page.getByRole('alert').filter({ hasText: 'Sign in to do this.' }).waitFor()
  await signIn('ann')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await expectInput(page.getByLabel('name'), 'Lisboa')
  // Only the user who was signed in before was not permitted to write.
  await expectNone(page.getByRole('alert'))
  await page.getByLabel('name').fill('Lisbon')
  await button('Save').click()
  await heading('city 1 Lisbon').waitFor()
})

test('sorting or filtering a list with keyset paging goes back to its first page', async () => {
  await open('#/mark')
  await link('Next').click()
  await page.getByText('Page 2').waitFor()
  await page.getByRole('columnheader', { name: 'name' }).getByRole('button').click()
  await page.getByText('Page 1').waitFor()
  await link('Next').click()
  await page.getByText('Page 2').waitFor()
  await button('Add a filter').click()
  await submitFilter('name', '=', 'Mark +')
  await page.getByText('Page 1').waitFor()
  await expectColumn('name', ['Mark +'])
})

test.each(['+', 'a/b'])('the record with the key %s can be opened', async (key) => {
  await open(`#/mark?id=${encodeURIComponent(key)}`)
  await link(`mark ${key}`).click()
  await heading(`mark ${key} Mark ${key}`).waitFor()
})

test('an invalid URL fragment does not break the page', async () => {
  await open('#/mark/50%')
  await heading('mark 50%').waitFor()
})

test('all keys are shown with names, however long and many they are', async () => {
  await open('#/mark?limit=60&key__like=key%25')
  const named = page.getByRole('link', { name: /^other_id Mark key-/ })
  await eventually(async () => expect(await named.count()).toBe(60))
})

test('signing out removes the names that only the description for users contains', async () => {
  const closed = await openSampleSite({ mount: { openapi: userRule() } })
  closing.push(closed)
  page = await visitor.open(`${closed.url}/api/`)
  await page.getByRole('alert').filter({ hasText: 'Sign in to do this.' }).waitFor()
  await signIn('bob')
  await resource('city').waitFor()
  await button('Sign out').click()
  await page.getByRole('alert').filter({ hasText: 'Sign in to do this.' }).waitFor()
  await expectNone(resource('city'))
})

test('a response that is not from the service leaves the form usable', async () => {
  await open('#/tale/+')
  await page.route('**/api/tale/', (route) => route.fulfill({ status: 200, body: '<p>Welcome to the café' }))
  await page.getByLabel('text').fill('Kept')
  await button('Create').click()
  await page.getByRole('alert').filter({ hasText: 'does not come from the service' }).waitFor()
  await expectInput(page.getByLabel('text'), 'Kept')
})

test('a password that is typed is not in the curl command', async () => {
  await open('#/user/+')
  await signIn('ann')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.getByLabel('username').fill('cat')
  await page.getByLabel('password').fill('a-typed-secret')
  await button('Create').click()
  await page.getByText('email is required').waitFor()
  await request().getByText('"password":"…"').waitFor()
  expect(await request().innerText()).not.toContain('a-typed-secret')
})

test('a view that sends no request for records shows the URL of its records, or of the OpenAPI document', async () => {
  const expectUrl = (path: string): Promise<void> =>
    request().getByText(`${world.url}/api${path}`, { exact: true }).waitFor()
  await open('#/visit')
  await closed().waitFor()
  await expectUrl('/visit/')
  await page.evaluate(`location.hash = '#/visit/7'`)
  await expectUrl('/visit/7/')
  for (const fragment of ['#/nothing', '#/']) {
    await page.evaluate(`location.hash = '#/tale'`)
    await expectUrl('/tale/')
    await page.evaluate(`location.hash = '${fragment}'`)
    await expectUrl('/openapi.json')
  }
})

test('the URL and the curl command of the current view are shown and can be copied', async () => {
  await open('#/city?country__region=Asia')
  await expectColumn('name', ['Tokyo'])
  const url = `${world.url}/api/city/?country__region=Asia&include=country(fields:(name))`
  await request().getByText(url, { exact: true }).waitFor()
  const { height } = page.viewportSize() ?? { height: 0 }
  const box = await button('Copy the curl line').boundingBox()
  expect(box && box.y + box.height).toBeLessThanOrEqual(height)
  expect(await copied('URL')).toBe(url)
  const line = await copied('curl line')
  expect(line).toMatch(/^curl '/)
  // Polled, since the service runs in the same process.
  const { stdout: answer } = await promisify(execFile)('bash', ['-c', `${line} -s`])
  expect(JSON.parse(answer).objects).toMatchObject([{ name: 'Tokyo' }])
})

test('a deep link opens the view, and the back button returns from it', async () => {
  await open('#/city?country__region=Europe&ordering=-population&limit=5')
  await expectColumn('name', ['Berlin', 'Madrid', 'Rome', 'Paris', 'Hamburg'])
  await link('city 2').click()
  await heading('city 2 Berlin').waitFor()
  await link('country_id Germany 4').click()
  await heading('country 4 Germany').waitFor()
  await page.goBack()
  await heading('city 2 Berlin').waitFor()
  await page.goBack()
  await expectColumn('name', ['Berlin', 'Madrid', 'Rome', 'Paris', 'Hamburg'])
  await page.reload()
  await expectColumn('name', ['Berlin', 'Madrid', 'Rome', 'Paris', 'Hamburg'])
})

test('everything can be done with the keyboard: navigate, sort, open a record, sign in', async () => {
  const press = async (locator: Locator): Promise<void> => {
    for (let step = 0; step < 60; step++) {
      if ((await locator.and(page.locator(':focus')).count()) === 1) return page.keyboard.press('Enter')
      await page.keyboard.press('Tab')
    }
    throw new Error(`the keyboard does not reach ${locator}`)
  }
  await open()
  await resource('city').waitFor()
  await press(resource('city'))
  await heading('city').waitFor()
  // After each navigation the heading has the focus, not the start of the page.
  await page.locator('h1:focus').waitFor()
  await press(page.getByRole('columnheader', { name: 'name' }).getByRole('button'))
  await expectColumn('name', ['Berlin'])
  await press(link('city 2'))
  await heading('city 2 Berlin').waitFor()
  await page.locator('h1:focus').waitFor()
  await press(button('Sign in to change it'))
  await page.getByLabel('User name').and(page.locator(':focus')).waitFor()
  await page.keyboard.type('ann')
  await page.keyboard.press('Tab')
  await page.keyboard.type('ann')
  await page.keyboard.press('Enter')
  await link('Edit').waitFor()
})

test('a new visitor finds the five largest cities of Europe, signs in, adds a visit to one, and copies its curl command', async () => {
  await open()
  await resource('city').click()
  await button('Add a filter').click()
  await submitFilter('country › region', '=', 'Europe')
  await page.getByRole('columnheader', { name: 'population' }).getByRole('button').click()
  await page.getByRole('columnheader', { name: 'population' }).getByRole('button').click()
  await page.getByRole('combobox', { name: 'Records per page' }).selectOption('5')
  await expectColumn('name', ['Berlin', 'Madrid', 'Rome', 'Paris', 'Hamburg'])
  await link('city 4').click()
  await heading('city 4 Rome').waitFor()
  await signIn('bob')
  await link('New visit').click()
  await page.getByLabel('rating').fill('5')
  await button('Create').click()
  await heading(/^visit \d+/).waitFor()
  const line = /^curl -u bob .*\/api\/visit\/\d+\/\?include=city\(fields:\(name\)\)'$/
  await request().getByText(line).waitFor()
  expect(await copied('curl line')).toMatch(line)
})
