import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { BrowserContextOptions, Locator, Page } from 'playwright-core'
import { Entity, PrimaryGeneratedColumn } from 'typeorm'
import { custom, Resource, readOnlyRule, userRule } from 'typeorm-resources'
import { entities } from '../../sample/entities'
import { createSchemes } from '../support/schemes'
import { openWorld, type World } from '../world/world'
import { barriers, eventually, Visitor } from './browser'
import { explorerPage } from './explorer-page'
import { openSampleSite } from './sample-site'

@Entity()
@Resource({ auth: readOnlyRule() })
class Notice {
  @PrimaryGeneratedColumn() id!: number
}

@Entity()
@Resource({ auth: userRule() })
class Letter {
  @PrimaryGeneratedColumn() id!: number
}

/** Signing in to the explorer with several schemes, and Swagger UI. */

const { authenticators, tokens, keys } = createSchemes()
let several: World
let visitor: Visitor
let page: Page
/** Sites of a single test, which are closed after it. */
const closing: World[] = []

beforeAll(async () => {
  const pass = custom({ scheme: 'Pass', authenticate: (text) => (text === 'pass-1' ? { id: 2 } : null) })
  several = await openSampleSite({ mount: { authenticators: [...authenticators, pass] } })
  tokens.set('token-1', { id: 2, admin: false })
  keys.set('key-1', { id: 2, admin: false })
  visitor = await Visitor.arrive()
})
afterEach(async () => {
  expect(await visitor.finish()).toEqual([])
  for (const other of closing.splice(0)) await other.close()
})
afterAll(async () => {
  await visitor.leave()
  await several.close()
})

const { link, button, heading, resource, request, expectColumn, expectNone, copied } = explorerPage(() => page)

const looks: readonly BrowserContextOptions[] = [
  { colorScheme: 'light' },
  { colorScheme: 'dark', viewport: { width: 390, height: 844 } },
]

const dialog = (): Locator => page.getByRole('dialog', { name: 'Sign in' })
const openDialog = async (url: string): Promise<void> => {
  page = await visitor.open(url)
  await page.getByRole('banner').getByRole('button', { name: 'Sign in' }).click()
}
const authorizationOf = async (act: () => Promise<void>): Promise<string | null> => {
  const sent = page.waitForRequest((one) => one.url().includes('/api/visit'))
  await act()
  return (await sent).headerValue('Authorization')
}

test.each([
  ['Token', 'token-1', 'Bearer token-1', `-H 'Authorization: Bearer '"$TOKEN"`],
  ['Token', ' Bearer  token-1 ', 'Bearer token-1', `-H 'Authorization: Bearer '"$TOKEN"`],
  ['API key', 'key-1', 'ApiKey key-1', `-H 'Authorization: ApiKey '"$API_KEY"`],
  ['Credentials for pass', 'pass-1', 'pass pass-1', `-H 'Authorization: pass '"$CREDENTIALS"`],
])('users sign in with %s "%s"; the curl command has a variable instead', async (label, text, header, argument) => {
  await openDialog(`${several.url}/api/#/visit`)
  await dialog().getByLabel('Sign in with').selectOption(label)
  await dialog().getByLabel(label, { exact: true }).fill('wrong')
  await dialog().getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('alert').filter({ hasText: 'may be wrong or expired' }).waitFor()
  await dialog().getByLabel(label, { exact: true }).fill(text)
  const sent = await authorizationOf(() => dialog().getByRole('button', { name: 'Sign in' }).click())
  expect(sent).toBe(header)
  await expectColumn('note', ['Visit 1', 'Visit 2'])
  await page.getByRole('banner').getByText('User 2', { exact: true }).waitFor()
  await request().getByText(`curl ${argument} '${several.url}/api/visit/?include=city(fields:(name))'`).waitFor()
  expect(await page.content()).not.toContain(text.trim())
  await button('Sign out').click()
  await page.getByText('Sign in to see these records.', { exact: true }).waitFor()
})

test('the curl command works if the variable of the shell is set', async () => {
  await openDialog(`${several.url}/api/#/visit`)
  await dialog().getByLabel('Sign in with').selectOption('API key')
  await dialog().getByLabel('API key', { exact: true }).fill('key-1')
  await dialog().getByRole('button', { name: 'Sign in' }).click()
  await expectColumn('note', ['Visit 1', 'Visit 2'])
  const line = await copied('curl line')
  const env = { ...process.env, API_KEY: 'key-1' }
  const { stdout: answer } = await promisify(execFile)('bash', ['-c', `${line} -s`], { env })
  expect(JSON.parse(answer).objects[0]).toMatchObject({ note: 'Visit 1' })
})

test('a token that cannot be sent is reported, and a token that has expired too', async () => {
  await openDialog(`${several.url}/api/#/city/1`)
  await dialog().getByLabel('Sign in with').selectOption('Token')
  await dialog().getByLabel('Token', { exact: true }).fill('two words')
  await dialog().getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('alert').filter({ hasText: 'only ASCII characters' }).waitFor()
  tokens.set('short-lived', { id: 2, admin: false })
  await dialog().getByLabel('Token', { exact: true }).fill('short-lived')
  // After signing in, the page reads the description again. It needs the token until then.
  const described = page.waitForResponse(/openapi\.json$/)
  await dialog().getByRole('button', { name: 'Sign in' }).click()
  await described
  await link('New visit').waitFor()
  tokens.delete('short-lived')
  await resource('visit').click()
  await page.getByRole('alert').filter({ hasText: 'credentials of User 2, which may have expired' }).waitFor()
  await button('Sign in again').waitFor()
})

test('the schemes can be chosen with the keyboard, and axe finds no accessibility problem in each form', async () => {
  const found: Record<string, readonly string[]> = {}
  for (const look of looks) {
    page = await visitor.open(`${several.url}/api/`, look)
    const signInButton = page.getByRole('banner').getByRole('button', { name: 'Sign in' })
    await signInButton.focus()
    await page.keyboard.press('Enter')
    await dialog().getByLabel('Sign in with').and(page.locator(':focus')).waitFor()
    for (const label of ['Name and password', 'Token', 'API key']) {
      await dialog().getByRole('option', { name: label, selected: true }).waitFor({ state: 'attached' })
      found[`${look.colorScheme} ${label}`] = await barriers(page)
      await page.keyboard.press('ArrowDown')
    }
  }
  expect(found).toEqual(Object.fromEntries(Object.keys(found).map((name) => [name, []])))
  await page.keyboard.press('Home')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Tab')
  await page.keyboard.type('token-1')
  await page.keyboard.press('Enter')
  await page.getByText('User 2', { exact: true }).waitFor()
})

test('if only users can read the description, the schemes are those of the response', async () => {
  const closed = await openSampleSite({ mount: { authenticators, openapi: userRule() } })
  closing.push(closed)
  await openDialog(`${closed.url}/api/`)
  const labels = ['Name and password', 'Token', 'API key']
  await eventually(async () => expect(await dialog().getByRole('option').allInnerTexts()).toEqual(labels))
  await dialog().getByLabel('Sign in with').selectOption('Token')
  await dialog().getByLabel('Token', { exact: true }).fill('token-1')
  await dialog().getByRole('button', { name: 'Sign in' }).click()
  await resource('city').waitFor()
})

test('without an operation that needs credentials nobody can sign in', async () => {
  const open = await openWorld({ entities: [Notice] })
  closing.push(open)
  page = await visitor.open(`${open.url}/api/#/notice`)
  await heading('notice').waitFor()
  await expectNone(page.getByRole('button', { name: /^Sign in/ }))
})

test('Swagger UI sends a token, and a key with the name of its scheme', async () => {
  const small = await openWorld({ entities: [Letter], mount: { authenticators: authenticators.slice(1) } })
  closing.push(small)
  page = await visitor.open(`${small.url}/api/docs/`)
  const operation = page.locator('.opblock-get').first()
  await operation.locator('.opblock-summary-control').click()
  await operation.getByRole('button', { name: 'Try it out' }).click()
  for (const [scheme, text] of [
    ['bearer', 'Bearer token-1'],
    ['apikey', 'ApiKey key-1'],
  ] as const) {
    await page.locator('.btn.authorize').click()
    const form = page.locator('.auth-container').filter({ hasText: `${scheme} ` })
    await form.getByRole('textbox').fill(text.replace('Bearer ', ''))
    await form.getByRole('button', { name: 'Apply credentials' }).click()
    await page.locator('.btn-done').first().click()
    const sent = page.waitForRequest((one) => /\/api\/letter/.test(one.url()))
    await operation.getByRole('button', { name: 'Execute' }).click()
    expect(await (await sent).headerValue('Authorization')).toBe(text)
    expect((await (await sent).response())?.status()).toBe(200)
    await page.locator('.btn.authorize').click()
    await form.getByRole('button', { name: 'Remove authorization' }).click()
    await page.locator('.btn-done').first().click()
  }
})

test('the API reference shows every operation without requests to other origins', async () => {
  // Swagger UI takes many seconds for a resource with a hundred fields.
  const small = await openWorld({ entities, mount: { info: { title: 'Places' } } })
  closing.push(small)
  page = await visitor.open(`${small.url}/api/docs/`)
  await page.getByText('Places').first().waitFor()
  await page.locator('.opblock-summary-path').getByText('city', { exact: false }).first().waitFor()
  await eventually(async () => expect(await page.locator('.opblock').count()).toBeGreaterThan(20))
  expect(await page.getByText('Not stated').isVisible()).toBe(false)
  await page.locator('[id^=operations-language]').first().locator('.opblock-summary-control').click()
  await page.getByText('name__ilike', { exact: true }).waitFor()
  const heightOf = async (selector: string): Promise<number> =>
    (await page.locator(selector).first().boundingBox())?.height ?? 0
  expect(await heightOf('.opblock.is-open')).toBeLessThan(1500)
  await link('Explorer').click()
  await heading('Places').waitFor()
})
