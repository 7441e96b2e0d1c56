import { Max, Min } from 'class-validator'
import type { Locator, Page } from 'playwright-core'
import { Column, DeleteDateColumn, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { entities } from '../../sample/entities'
import { permitAll } from '../support/access'
import { nestedEntities } from '../support/nested'
import { seedSample } from '../world/sample'
import { openWorld, type World } from '../world/world'
import { barriers, eventually, Visitor } from './browser'
import { explorerPage } from './explorer-page'

/** Inputs of the explorer's forms. */

@Entity()
@Resource({ auth: permitAll })
class Sheet {
  @PrimaryGeneratedColumn() id!: number
  @Column('text') remark!: string
  @Column({ type: 'varchar', length: 500, default: '' }) summary!: string
  @Column() due: Date = new Date(0)
  @Column('simple-array') colours: string[] = []
  @Column({ type: 'simple-json', nullable: true }) extra!: unknown
  @Column({ type: 'integer', default: 3 }) @Min(1) @Max(5) stars!: number
}

/** Soft-deleted records of it can be restored. */
@Entity()
@Resource({ auth: permitAll, may: { restore: true }, bulk: true })
class Draft {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) title!: string
  @DeleteDateColumn({ select: false }) deleted!: Date | null
}

let world: World
let visitor: Visitor
let page: Page

beforeAll(async () => {
  world = await openWorld({ entities: [...entities, ...nestedEntities, Sheet, Draft], seed: seedSample })
  visitor = await Visitor.arrive()
})
beforeEach(async () => {
  await world.dataSource.getRepository(Sheet).clear()
  const due = new Date('2024-02-29T10:20:30Z')
  await world.dataSource.getRepository(Sheet).insert({ id: 1, remark: 'One', due, colours: ['red', 'blue'] })
})
afterEach(async () => expect(await visitor.finish()).toEqual([]))
afterAll(async () => {
  await visitor.leave()
  await world.close()
})

const { link, button, heading, expectInput, expectNone, signIn } = explorerPage(() => page)

async function open(fragment: string): Promise<void> {
  page = await visitor.open(`${world.url}/api/${fragment}`)
}
const input = (name: string): Locator => page.getByLabel(new RegExp(`^${name}( required)?$`))

/** Forms, their fields, and the inputs of these: the element, its type and its rows of text. */
test.each([
  ['user', 'username', 'input', 'text'],
  ['user', 'password', 'input', 'password'],
  ['sheet', 'remark', 'textarea', '1'],
  ['sheet', 'summary', 'textarea', '1'],
  ['sheet', 'due UTC', 'input', 'datetime-local'],
  ['sheet', 'colours', 'textarea', '3'],
  ['sheet', 'extra', 'textarea', '3'],
])('in the form of a %s, the field %s is a %s (%s)', async (resource, field, element, detail) => {
  await open(`#/${resource}/+`)
  if (resource === 'user') await signIn('ann')
  await heading(`New ${resource}`).waitFor()
  const found = input(field)
  await found.waitFor()
  const attribute = element === 'input' ? 'type' : 'rows'
  expect(await found.evaluate((one: { localName: string }) => one.localName)).toBe(element)
  expect((await found.getAttribute(attribute)) ?? 'text').toBe(detail)
})

test('a form has the fields in the order of the entity: the user name before the password', async () => {
  await open('#/user/+')
  await signIn('ann')
  await input('password').waitFor()
  const labels = await page.locator('.field > label:first-child').allInnerTexts()
  expect(labels.map((label) => label.split(/\s/)[0])).toEqual(['username', 'password', 'email', 'admin', 'active'])
})

test('a text that is empty has the height of a line, and grows with its lines', async () => {
  await open('#/sheet/+')
  const height = async (): Promise<number> => (await input('remark').boundingBox())?.height ?? 0
  expect(await height()).toBeLessThan(50)
  await input('remark').fill('a\nb\nc')
  expect(await height()).toBeGreaterThan(75)
})

test('there is a gap between the check box for null and its text', async () => {
  await open('#/country/+')
  await signIn('ann')
  await page.getByRole('checkbox', { name: 'null for capital' }).waitFor()
  const gap = await page.evaluate(`
    const box = document.querySelector('.field [type=checkbox]')
    const text = document.createRange()
    text.selectNode(box.nextSibling)
    text.getBoundingClientRect().left - box.getBoundingClientRect().right
  `)
  expect(gap).toBeGreaterThan(6)
})

/** Fields, what their inputs contain, what is typed, and what is stored then. */
test.each([
  ['due UTC', '2024-02-29T10:20:30', '2025-03-01T08:00', { due: new Date('2025-03-01T08:00:00Z') }],
  ['colours', 'red\nblue', 'red\n\n[green', { colours: ['red', '[green'] }],
  ['colours', 'red\nblue', '["white"]', { colours: ['white'] }],
  ['colours', 'red\nblue', '', { colours: [] }],
  ['extra', '', '{"a": [1]}', { extra: { a: [1] } }],
  ['remark', 'One', 'One\nTwo', { remark: 'One\nTwo' }],
])('the field %s contains %j; %j is stored', async (field, before, typed, stored) => {
  await open('#/sheet/1/edit')
  await expectInput(input(field), before)
  await input(field).fill(typed)
  await button('Save').click()
  await heading('sheet 1').waitFor()
  expect(await world.dataSource.getRepository(Sheet).findOneBy({ id: 1 })).toMatchObject(stored)
})

/** Forms, their fields, and the hints for their format. */
test.each([
  ['invoice', 'tag_ids', 'The ids of the related tag records.'],
  ['sheet', 'colours', 'One value in each line.'],
  ['sheet', 'extra', 'JSON.'],
])('in the form of a %s, the field %s has the hint %s', async (resource, field, hint) => {
  await open(`#/${resource}/+`)
  const described = await input(field).getAttribute('aria-describedby')
  const [id] = described?.split(' ') ?? []
  expect(await page.locator(`[id="${id}"]`).innerText()).toContain(hint)
  expect(await barriers(page)).toEqual([])
})

test('an invoice is created with its lines', async () => {
  await open('#/invoice/+')
  await input('title').fill('A')
  await button('Add to lines').click()
  await input('position').fill('1')
  await input('text').fill('Ink')
  await button('Create').click()
  await heading(/^invoice \d+/).waitFor()
  expect(await world.sql('SELECT position, text FROM line')).toEqual([{ position: 1, text: 'Ink' }])
})

/** Fields, texts outside of their limits, and the errors, which need no request. */
test.each([
  ['stars', '6', 'stars must be at most 5'],
  ['stars', '0', 'stars must be at least 1'],
  ['stars', 'many', 'stars must be an integer'],
  ['summary', 'x'.repeat(501), 'summary must have at most 500 characters, not 501'],
])('the form names the limit of the field %s', async (field, text, message) => {
  await open('#/sheet/+')
  const writes: string[] = []
  page.on('request', (request) => request.method() === 'POST' && writes.push(request.url()))
  await input('remark').fill('New')
  await input(field).fill(text)
  await button('Create').click()
  await page.getByText(message, { exact: true }).waitFor()
  await input(field).and(page.locator('[aria-invalid=true]')).waitFor()
  expect(writes).toEqual([])
})

const stored = (): Promise<Sheet | null> => world.dataSource.getRepository(Sheet).findOneBy({ id: 1 })

test('after another user has changed the record, the form shows both versions, keeps the input, and can be saved', async () => {
  await open('#/sheet/1/edit')
  await input('remark').fill('Mine')
  await input('summary').fill('My summary')
  await world.dataSource.getRepository(Sheet).update(1, { remark: 'Theirs', summary: 'Their summary', stars: 4 })
  await button('Save').click()
  await page.getByRole('alert').filter({ hasText: 'Your input is kept.' }).waitFor()
  const changes = page.locator('.changed')
  expect(await changes.allInnerTexts()).toEqual([
    expect.stringContaining('from One to Theirs'),
    expect.stringContaining('to Their summary'),
    expect.stringContaining('from 3 to 4'),
  ])
  expect(await barriers(page)).toEqual([])
  await expectInput(input('remark'), 'Mine')
  await expectInput(input('stars'), '4')
  await button('Take this value for summary').click()
  await expectInput(input('summary'), 'Their summary')
  await button('Save').click()
  await page.getByRole('status').getByText('sheet 1 has been saved.').waitFor()
  expect(await stored()).toMatchObject({ remark: 'Mine', summary: 'Their summary', stars: 4 })
})

/** Ways to leave a form. */
const ways: readonly (readonly [string, () => Promise<unknown>])[] = [
  ['a link', () => page.getByRole('navigation').getByRole('link', { name: 'city', exact: true }).click()],
  ['Cancel', () => link('Cancel').click()],
  ['the back button', () => page.goBack()],
]

test.each(ways)('leaving a form by %s asks before it discards the input', async (_, leave) => {
  await open('#/sheet/1')
  await link('Edit').click()
  await input('remark').fill('Kept')
  const answers = [false, true]
  const questions: string[] = []
  page.on('dialog', (dialog) => {
    questions.push(dialog.message())
    void (answers.shift() ? dialog.accept() : dialog.dismiss())
  })
  await leave()
  await eventually(async () => expect(questions).toEqual(['Discard what you have entered?']))
  await expectInput(input('remark'), 'Kept')
  expect(new URL(page.url()).hash).toBe('#/sheet/1/edit')
  await leave()
  await expectNone(input('remark'))
  expect(questions).toHaveLength(2)
})

test('closing the page asks only while a form has input that is not saved', async () => {
  await open('#/sheet/1/edit')
  await expectInput(input('remark'), 'One')
  const isAsked = (): Promise<unknown> =>
    page.evaluate(`!dispatchEvent(new Event('beforeunload', { cancelable: true }))`)
  expect(await isAsked()).toBe(false)
  await input('remark').fill('Two')
  await eventually(async () => expect(await isAsked()).toBe(true))
  await button('Save').click()
  await heading('sheet 1').waitFor()
  await eventually(async () => expect(await isAsked()).toBe(false))
})

test('what was created, saved or deleted is announced until the user goes on', async () => {
  await open('#/sheet/+')
  await input('remark').fill('New')
  await button('Create').click()
  await page
    .getByRole('status')
    .getByText(/^sheet \d+ has been created.$/)
    .waitFor()
  await link('All sheet records').click()
  await expectNone(page.getByText('has been created'))
  await page.goBack()
  await heading(/^sheet \d+/).waitFor()
  await expectNone(page.getByText('has been created'))
  await button('Delete').click()
  await button('Yes, delete').click()
  await page
    .getByRole('status')
    .getByText(/^sheet \d+ has been deleted.$/)
    .waitFor()
})

test('a form states who will own the record, and the page of another user offers no new one', async () => {
  await open('#/user/2')
  await signIn('ann')
  await link('visit by user_id').waitFor()
  await expectNone(link('New visit'))
  await page.getByRole('navigation').getByRole('link', { name: 'visit', exact: true }).click()
  await link('New visit').click()
  await page.getByText('It will belong to ann.', { exact: true }).waitFor()
  await page.evaluate(`location.hash = '#/user/1'`)
  await link('visit by user_id').waitFor()
  await link('New visit').waitFor()
})

/** Lists of deleted records, and the actions on a record of them. */
test.each([
  ['only', ['Restore']],
  ['with', ['Restore', 'Edit', 'Delete']],
])('a deleted record in the list of deleted=%s can be opened and restored', async (deleted, actions) => {
  await world.dataSource.getRepository(Draft).clear()
  await world.dataSource.getRepository(Draft).insert({ id: 1, title: 'Gone', deleted: new Date() })
  await open('#/draft')
  await page.getByText('No records.').waitFor()
  if (deleted === 'only') await link('Deleted records').click()
  else await page.evaluate(`location.hash = '#/draft?deleted=with'`)
  await link('Gone').click()
  await heading('draft 1 Gone').waitFor()
  expect((await page.locator('.heading').first().innerText()).split('\n').slice(1)).toEqual(actions)
  expect(await barriers(page)).toEqual([])
  await button('Restore').click()
  await page.getByRole('status').getByText('draft 1 has been restored.').waitFor()
  await link('Edit').waitFor()
  expect(await world.dataSource.getRepository(Draft).countBy({ id: 1 })).toBe(1)
})
