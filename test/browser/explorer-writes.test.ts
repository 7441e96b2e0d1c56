import { IsPositive } from 'class-validator'
import type { BrowserContextOptions, Locator, Page } from 'playwright-core'
import { Column, Entity, ManyToOne, PrimaryColumn, PrimaryGeneratedColumn, type Relation } from 'typeorm'
import { Resource, userRule } from 'typeorm-resources'
import { Country, entities, User } from '../../sample/entities'
import { send } from '../client'
import { permitAll } from '../support/access'
import { Invoice, nestedEntities } from '../support/nested'
import { seedSample } from '../world/sample'
import { openWorld, type World } from '../world/world'
import { barriers, eventually, Visitor } from './browser'
import { explorerPage } from './explorer-page'

/** Writes of several records in the explorer: selected ones, those of a file, and related records in a form. */

/** A key of two columns, whose values may have commas. One request can write five. */
@Entity()
@Resource({ auth: permitAll, bulk: 5 })
class Seat {
  @PrimaryColumn({ length: 5 }) row!: string
  @PrimaryColumn({ type: 'integer' }) number!: number
  @IsPositive()
  @Column({ type: 'integer' })
  price!: number
  @Column({ type: 'varchar', length: 20, nullable: true }) note!: string | null
}

@Entity()
@Resource({ auth: userRule({ read: 'public' }), ownerField: 'user', bulk: true })
class Memo {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) text!: string
  @ManyToOne(() => User, { nullable: false }) user!: Relation<User>
}

let world: World
let visitor: Visitor
let page: Page

beforeAll(async () => {
  world = await openWorld({
    entities: [...entities, ...nestedEntities, Seat, Memo],
    // Less than `bulk`, so that a list of ids can be too long.
    mount: { limits: { members: 4 } },
    seed: async (dataSource) => {
      await seedSample(dataSource)
      await dataSource.getRepository(Memo).insert([
        { text: 'of ann', user: { id: 1 } },
        { text: 'of bob', user: { id: 2 } },
      ])
    },
  })
  visitor = await Visitor.arrive()
})
beforeEach(async () => {
  await world.sql('DELETE FROM "seat"')
  const seats = Array.from({ length: 6 }, (_, index) => ({ row: 'a,b', number: 1 + index, price: 10, note: 'new' }))
  await world.dataSource.getRepository(Seat).insert(seats)
})
afterEach(async () => expect(await visitor.finish()).toEqual([]))
afterAll(async () => {
  await visitor.leave()
  await world.close()
})

const { button, heading, resource, request, expectColumn, expectInput, expectNone, signIn } = explorerPage(() => page)

async function open(fragment: string, options?: BrowserContextOptions): Promise<void> {
  page = await visitor.open(`${world.url}/api/${fragment}`, options)
}

const checkbox = (name: string | RegExp): Locator => page.getByRole('checkbox', { name, exact: true })
const alert = (text: string | RegExp): Locator => page.getByRole('alert').filter({ hasText: text })
const status = (text: string): Locator => page.getByRole('status').getByText(text, { exact: true })

/** Opens the list of seats and selects those with these numbers. */
async function openSelected(numbers: readonly number[], options?: BrowserContextOptions): Promise<void> {
  await open('#/seat', options)
  await select(...numbers)
}

async function select(...numbers: readonly number[]): Promise<void> {
  for (const number of numbers) await checkbox(String.raw`Select seat a\,b,${number}`).check()
  await status(`${numbers.length} selected`).waitFor()
}

/** Price and note of each seat, in the order of their numbers. */
async function seats(): Promise<readonly string[]> {
  const found = await world.dataSource.getRepository(Seat).find({ order: { number: 'ASC' } })
  return found.map(({ number, price, note }) => `${number} ${price} ${note}`)
}

/** Prices that are refused, and what the page says. */
const refusedPrices: readonly (readonly [price: string, message: string])[] = [
  ['', 'Fill in at least one field.'],
  ['many', 'price must be an integer'],
  ['-1', 'price must be greater than 0'],
]

/** URL fragment of a view, role and name of the control that opens a form, and selector of an element of the form. */
const focusCases: readonly (readonly [fragment: string, role: 'button' | 'link', name: string, selector: string])[] = [
  ['#/seat', 'link', 'New seat', 'main .field input'],
  ['#/seat', 'button', 'Import a file', 'form.panel select'],
  ['#/seat', 'button', 'Change…', 'form.panel input'],
  ['#/seat', 'button', 'Delete…', 'section.panel button:last-child'],
  ['#/memo/1', 'button', 'Delete', 'main button.danger + button'],
]

test.each(focusCases)('in %s, the %s "%s" does not move the focus after the page is painted', async (...row) => {
  const [fragment, role, name, selector] = row
  await open(fragment)
  await signIn('ann')
  if (name.endsWith('…')) await select(1)
  // Focuses the element as soon as it is in the document, before the page is painted.
  const hasFocus = page.evaluate(`new Promise((resolve) => {
    const focus = (_, observer) => {
      const chosen = document.querySelector('${selector}')
      if (!chosen) return
      observer.disconnect()
      chosen.focus()
      requestAnimationFrame(() => setTimeout(() => resolve(document.activeElement === chosen), 200))
    }
    new MutationObserver(focus).observe(document, { childList: true, subtree: true })
  })`)
  await page.getByRole(role, { name, exact: true }).click()
  expect(await hasFocus).toBe(true)
})

test('the fields that are filled in are changed in all selected records, by one request', async () => {
  await openSelected([1, 3])
  await button('Change…').click()
  const form = page.getByRole('form', { name: 'Change 2 records' })
  await page.getByRole('heading', { name: 'Change 2 records' }).and(page.locator(':focus')).waitFor()
  for (const [price, message] of refusedPrices) {
    await form.getByLabel('price').fill(price)
    await form.getByRole('button', { name: 'Change 2 records' }).click()
    await page.getByText(message).first().waitFor()
    await status('2 selected').waitFor()
  }
  await form.getByLabel('price').fill('25')
  await form.getByLabel('null for note').check()
  await request().getByText(`-d '{"price":25,"note":null}'`).waitFor()
  const sent = page.waitForRequest((one) => one.method() === 'PATCH')
  await form.getByRole('button', { name: 'Change 2 records' }).click()
  await status('2 records changed.').and(page.locator(':focus')).waitFor()
  expect(new URL((await sent).url()).search).toBe('?id__in=%22a%5C,b,1%22,%22a%5C,b,3%22&max=2')
  await expectColumn('price', ['25', '10', '25'])
  await status('No record is selected').waitFor()
  await expectNone(form)
  expect(await seats()).toEqual(['1 25 null', '2 10 new', '3 25 null', '4 10 new', '5 10 new', '6 10 new'])
})

test('a deletion states the number of records, can be cancelled, and reports records that are gone already', async () => {
  await openSelected([2, 4, 5])
  await button('Delete…').click()
  await page.getByRole('heading', { name: 'Delete 3 records of seat?' }).waitFor()
  await button('Keep').click()
  await button('Delete…').and(page.locator(':focus')).waitFor()
  await page.keyboard.press('Enter')
  await button('Delete 3 records').and(page.locator(':focus')).waitFor()
  await page.keyboard.press('Enter')
  await status('3 records deleted.').and(page.locator(':focus')).waitFor()
  await expectColumn('number', ['1', '3', '6'])
  await select(1, 3)
  await world.sql('DELETE FROM "seat" WHERE "number" = 3')
  await button('Delete…').click()
  await button('Delete 2 records').click()
  await status('1 record deleted. 1 record of the selection did not exist any more.').waitFor()
  expect(await seats()).toEqual(['6 10 new'])
})

test('all records of the page can be selected, but one request writes no more than the service allows', async () => {
  await open('#/seat')
  const all = checkbox('Select all on this page')
  await all.check()
  await status('6 selected').waitFor()
  await page.getByText('One request can write 5 records at most.').waitFor()
  expect(await button('Change…').isDisabled()).toBe(true)
  await checkbox(/,6$/).uncheck()
  expect(await all.evaluate((box: { indeterminate: boolean }) => box.indeterminate)).toBe(true)
  await button('Delete…').click()
  await button('Delete 5 records').click()
  await alert('Select fewer records.').waitFor()
  // Without a selection the form closes. It does not open again and take the focus.
  for (const text of ['6 selected', 'No record is selected', '6 selected']) {
    await all.press('Space')
    await status(text).waitFor()
  }
  await all.and(page.locator(':focus')).waitFor()
  await expectNone(button('Keep'))
})

/** Who reads the lists, and the records of each list that they can select; undefined if there is no form to import either. */
const readers: readonly (readonly [
  as: string | undefined,
  lists: Readonly<Record<string, readonly string[] | undefined>>,
])[] = [
  [undefined, { memo: undefined, country: undefined }],
  ['bob', { memo: ['Select memo 2'], country: undefined }],
  ['ann', { memo: ['Select memo 1'], country: ['Select country 1', 'Select country 2'], visit: undefined }],
]

test('only records that the user may write can be selected', async () => {
  await open('#/language')
  for (const [as, lists] of readers) {
    if (as !== undefined) await signIn(as)
    for (const [name, selectable] of Object.entries(lists)) {
      await resource(name).click()
      await heading(name).waitFor()
      await page.locator('[aria-busy=false] tbody tr').first().waitFor()
      const labels = await page.getByRole('checkbox', { name: /^Select \w+ \d+$/ }).all()
      const texts = await Promise.all(labels.map((one) => one.evaluate((box: Labelled) => box.labels[0]?.textContent)))
      const shown = ['Import a file', 'Change…', 'Delete…'].map((label) => button(label).count())
      const count = selectable === undefined ? 0 : 1
      expect([as, name, texts, await Promise.all(shown)]).toEqual([as, name, selectable ?? [], [count, count, count]])
    }
    if (as !== undefined) await button('Sign out').click()
  }
})

interface Labelled {
  readonly labels: readonly { readonly textContent: string }[]
}

/** A file as it is chosen. */
type Chosen = readonly [name: string, text: string]

/** Chooses a file in the open form, and checks it. */
async function check([name, text]: Chosen, conflict?: string): Promise<void> {
  await page.getByLabel('File').setInputFiles({ name, mimeType: '', buffer: Buffer.from(text) })
  if (conflict !== undefined) await page.getByLabel('Records that exist already').selectOption(conflict)
  await button('Check the file').click()
}

/** Opens the form to import countries, as an administrator. */
async function openImport(): Promise<void> {
  await open('#/country')
  await signIn('ann')
  await button('Import a file').click()
  await page.getByLabel('File').and(page.locator(':focus')).waitFor()
}

const country = (code: string): object => {
  return { code, name: `Country ${code}`, region: 'Asia', subregion: 'East', area: 1, landlocked: true }
}
const ndjson = (...records: readonly object[]): string => records.map((one) => `${JSON.stringify(one)}\n`).join('')
const names = 'code,name,region,subregion,area,landlocked'

/** Files, what the page says after the check, and after the import. */
const acceptedFiles: readonly (readonly [file: Chosen, conflict: string | undefined, can: string, done: string])[] = [
  [['c.CSV', `${names}\nAAA,A,Asia,East,1,true\n`], undefined, '1 record can be created.', '1 record created.'],
  [['c.jsonl', ndjson(country('BB1'), country('BB2'))], undefined, '2 records can be created.', '2 records created.'],
  [
    ['c.ndjson', ndjson(country('CCC'), { code: 'PRT', capital: 'Lisbon' })],
    'code',
    '1 record can be created, 1 record can be changed.',
    '1 record created, 1 record changed.',
  ],
]

test('a file is checked, and then imported', async () => {
  const count = (): Promise<number> => world.dataSource.getRepository(Country).count()
  await openImport()
  for (const [file, conflict, can, done] of acceptedFiles) {
    const before = await count()
    await check(file, conflict)
    await status(can).waitFor()
    expect(await count()).toBe(before)
    await request()
      .getByText(/--data-binary @c\.\w+ /)
      .waitFor()
    await button('Import').click()
    await status(done).and(page.locator(':focus')).waitFor()
    expect(await count()).toBe(before + Number(done.split(' ')[0]))
    await eventually(async () => expect(await page.locator('tbody tr').count()).toBe(await count()))
    await button('Import a file').click()
  }
})

/** Files that are refused, and the lines of the message. */
const refusedFiles: readonly (readonly [file: Chosen, messages: readonly (string | RegExp)[]])[] = [
  [
    ['c.csv', `${names}\nEEE,E,Asia,East,big,true\nEEEE,,Asia,East,1,yes\n`],
    [/^line 2: area must be a number/, /^line 3: code must be text/, 'line 3: landlocked must be true or false'],
  ],
  [['c.ndjson', ndjson(country('ESP'))], ['line 1: code is taken by another country']],
  [['c.csv', 'code,capitol\nEEE,E\n'], [/^line 1: capitol is not a field of country/]],
  [['c.ndjson', '{"code"\n'], [/line 1 is not JSON/]],
  // The service reports 20 errors.
  [['c.ndjson', '{}\n'.repeat(30)], ['There may be more errors.']],
  [['c.txt', 'x'], ['The name of the file must end in .csv or .ndjson or .jsonl.']],
]

test('a file with errors is not imported, and the errors are shown by line', async () => {
  await openImport()
  for (const [file, messages] of refusedFiles) {
    await check(file)
    for (const message of messages) await page.getByRole('alert').getByText(message).waitFor()
    expect(await page.getByRole('alert').getByRole('listitem').count()).toBeLessThanOrEqual(20)
    await expectNone(button('Import'))
  }
})

test('another file is checked anew, and a check can be cancelled', async () => {
  await openImport()
  await button('Check the file').click()
  await alert('Choose a file first.').waitFor()
  await button('Cancel').click()
  await button('Import a file').and(page.locator(':focus')).waitFor()
  await page.keyboard.press('Enter')
  await check(['c.csv', ''])
  await status('The file has no records.').waitFor()
  await expectNone(button('Import'))
  await check(['d.ndjson', ndjson(country('DDD'))])
  await button('Import').waitFor()
  await page.getByLabel('Records that exist already').selectOption('name')
  await expectNone(button('Import'))
  await page.route(/dry_run=true/, () => undefined)
  await check(['e.ndjson', 'x'.repeat(1_500_000)])
  await page.getByRole('progressbar', { name: 'Checking e.ndjson (1.5 MB)' }).waitFor()
  await button('Cancel the check').click()
  await button('Cancel').and(page.locator(':focus')).waitFor()
  await expectNone(page.getByRole('progressbar').or(page.getByRole('alert')))
  await resource('memo').click()
  await button('Import a file').click()
  // The owner is not in the file.
  await page.getByText('Fields: text (required).').waitFor()
})

/** What is shown, and how to get there. */
const views: readonly (readonly [string, (look: BrowserContextOptions) => Promise<void>])[] = [
  [
    'change',
    async (look) => {
      await openSelected([1, 2], look)
      await button('Change…').click()
    },
  ],
  ['deletion', () => button('Delete…').click()],
  [
    'errors of an import',
    async () => {
      await button('Import a file').click()
      await check(['c.csv', 'row,number,price\nc,x,y\n'])
      await page.getByRole('alert').waitFor()
    },
  ],
]

test.each<BrowserContextOptions>([
  { colorScheme: 'light' },
  { colorScheme: 'dark', viewport: { width: 320, height: 700 } },
])('axe finds no accessibility problem, and nothing is wider than the window: $colorScheme', async (look) => {
  const found: Record<string, readonly string[]> = {}
  for (const [name, show] of views) {
    await show(look)
    found[name] = await barriers(page)
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0)
  }
  expect(found).toEqual(Object.fromEntries(views.map(([name]) => [name, []])))
})

/** Title, texts of the lines and names of the tags of an invoice. */
async function storedInvoice(id: number): Promise<unknown> {
  const found = await world.dataSource
    .getRepository(Invoice)
    .findOneOrFail({ where: { id }, relations: { lines: true, tags: true }, order: { lines: { position: 'ASC' } } })
  return { title: found.title, lines: found.lines.map(({ text }) => text), tags: found.tags.map(({ name }) => name) }
}

test('a record is created with its related records, and saving its form does not change them', async () => {
  expect((await send(world.url, 'POST /api/tag/', { body: { name: 'urgent' } })).status).toBe(201)
  await open('#/invoice/+')
  await expectNone(page.getByLabel(/^lines_/))
  await page.getByLabel('title').fill('July')
  for (const [index, text] of ['a', 'b'].entries()) {
    await button('Add to lines').click()
    const line = page.getByRole('group', { name: `lines ${index + 1}`, exact: true })
    await line.getByLabel('position').fill(String(index + 1))
    await line.getByLabel('text').fill(text)
  }
  await page
    .getByLabel(/^tag_ids$/)
    .last()
    .fill('1')
  await button('Create').click()
  await heading('invoice 1 July').waitFor()
  const related = { lines: ['a', 'b'], tags: ['urgent'] }
  expect(await storedInvoice(1)).toEqual({ title: 'July', ...related })
  await page.goto(`${world.url}/api/#/invoice/1/edit`)
  await button('Remove urgent from tag_ids').waitFor()
  await expectInput(page.getByRole('group', { name: 'lines 2', exact: true }).getByLabel('text'), 'b')
  const sent = page.waitForRequest((one) => one.method() === 'PUT')
  await page.getByLabel('title').fill('August')
  await button('Save').click()
  await heading('invoice 1 August').waitFor()
  expect((await sent).postDataJSON()).toEqual({ title: 'August' })
  expect(await storedInvoice(1)).toEqual({ title: 'August', ...related })
})
