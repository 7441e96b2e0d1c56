import type { Locator, Page } from 'playwright-core'
import { send } from '../client'
import { openTracker, type Tracker } from '../support/tracker'
import { Visitor } from './browser'

/** The tracker of the sample, used at the same time by a browser with a token, a program with a key and a person with a password. */

let tracker: Tracker
let visitor: Visitor
let page: Page

beforeAll(async () => {
  tracker = await openTracker()
  visitor = await Visitor.arrive()
})
afterEach(async () => expect(await visitor.finish()).toEqual([]))
afterAll(async () => {
  await visitor.leave()
  await tracker.close()
  expect(tracker.world.faults).toEqual([])
})

const button = (name: string): Locator => page.getByRole('button', { name, exact: true })
const minutesOf = async (path: string, headers: Readonly<Record<string, string>>): Promise<readonly number[]> => {
  const { objects } = (await send(tracker.world.url, `GET /api/${path}`, { headers })).json() as {
    readonly objects: readonly { readonly minutes: number }[]
  }
  return objects.map(({ minutes }) => minutes)
}

test('an entry that bob creates in a browser is read with a key, and changed by bob with a password', async () => {
  const { url } = tracker.world
  const login = await send(url, 'POST /login', { body: { username: 'bob', password: 'bob' } })
  const { access_token: token } = login.json() as { readonly access_token: string }
  page = await visitor.open(`${url}/api/#/entry`)
  await page.getByRole('banner').getByRole('button', { name: 'Sign in' }).click()
  const dialog = page.getByRole('dialog', { name: 'Sign in' })
  await dialog.getByLabel('Sign in with').selectOption('Token')
  await dialog.getByLabel('Token', { exact: true }).fill(token)
  await dialog.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('link', { name: 'New entry', exact: true }).click()
  await page.getByLabel(/^minutes/).fill('77')
  await page.getByLabel(/^day/).fill('2026-03-01')
  await page.getByLabel(/^task_id/).fill('1')
  await button('Create').click()
  await page.getByRole('heading', { level: 1, name: /^entry \d+/ }).waitFor()

  const key = { Authorization: `ApiKey ${tracker.key}` }
  expect(await minutesOf('entry/?minutes=77', key)).toEqual([77])
  const [id] = await tracker.idsOf('bob', 'entry/?minutes=77')
  const change = await send(url, `PATCH /api/entry/${id}/`, { as: 'bob', body: { minutes: 78 } })
  expect(change.status).toBe(200)
  // The key of the program only reads and creates entries.
  expect((await send(url, `PATCH /api/entry/${id}/`, { headers: key, body: { minutes: 79 } })).status).toBe(401)
  expect(await minutesOf('entry/?minutes=78', { Authorization: `Bearer ${token}` })).toEqual([78])
})
