import type { BrowserContextOptions, Locator, Page } from 'playwright-core'
import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { entities } from '../../sample/entities'
import { permitAll } from '../support/access'
import { seedSample } from '../world/sample'
import { openWorld, type World } from '../world/world'
import { barriers, Visitor } from './browser'
import { explorerPage } from './explorer-page'

/** Date-times of the explorer in UTC and in local time, and the pickers of its filters. */

@Entity()
@Resource({ auth: permitAll, aggregate: true })
class Concert {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 40 }) title!: string
  @Column() starts!: Date
  @Column({ type: 'date', default: '2024-01-01' }) announced!: string
}

let world: World
let visitor: Visitor
let page: Page

const concerts = (): ReturnType<typeof world.dataSource.getRepository<Concert>> =>
  world.dataSource.getRepository(Concert)

beforeAll(async () => {
  world = await openWorld({ entities: [...entities, Concert], seed: seedSample })
  visitor = await Visitor.arrive()
})
beforeEach(async () => {
  await concerts().clear()
  await concerts().insert([
    { id: 1, title: 'Winter', starts: new Date('2024-02-29T10:20:30Z') },
    { id: 2, title: 'Summer', starts: new Date('2024-07-01T18:00:00Z'), announced: '2024-05-01' },
  ])
})
afterEach(async () => expect(await visitor.finish()).toEqual([]))
afterAll(async () => {
  await visitor.leave()
  await world.close()
})

const { button, heading, link, request, expectColumn, expectInput, expectLength, expectNone } = explorerPage(() => page)

/** Opens a page in a browser whose local time is that of Berlin: UTC+1, in summer UTC+2. */
async function open(fragment: string, options: BrowserContextOptions = {}): Promise<void> {
  page = await visitor.open(`${world.url}/api/${fragment}`, { timezoneId: 'Europe/Berlin', ...options })
}

const zone = (): Locator => page.getByRole('combobox', { name: 'Times in' })
const chooseLocalTime = (): Promise<unknown> => zone().selectOption('Europe/Berlin (local)')
const picker = (): Locator => page.locator('input[type=datetime-local]')

test('in a browser whose local time is UTC, there is no choice of the time zone', async () => {
  await open('#/', { timezoneId: 'UTC' })
  await page.getByText('Times in UTC', { exact: true }).waitFor()
  await expectNone(zone())
})

test('date-times are in UTC until the user chooses local time, which the browser remembers', async () => {
  await open('#/concert')
  await expectColumn('starts', ['2024-02-29 10:20:30', '2024-07-01 18:00:00'])
  await chooseLocalTime()
  await expectColumn('starts', ['2024-02-29 11:20:30+01:00', '2024-07-01 20:00:00+02:00'])
  expect(await barriers(page)).toEqual([])
  await page.reload()
  await expectColumn('starts', ['2024-02-29 11:20:30+01:00', '2024-07-01 20:00:00+02:00'])
  await expectInput(zone(), 'local')
  await link('concert 2').click()
  await page.locator('dd').getByText('2024-07-01 20:00:00+02:00', { exact: true }).waitFor()
  await zone().selectOption('UTC')
  await page.locator('dd').getByText('2024-07-01 18:00:00', { exact: true }).waitFor()
})

test('the earliest date-time of a group is in local time, and a date stays as it is', async () => {
  await open('#/concert?aggregate=starts__min,announced__max&by=title&ordering=title')
  await chooseLocalTime()
  await page.getByRole('cell', { name: '2024-07-01 20:00:00+02:00', exact: true }).waitFor()
  await page.getByRole('cell', { name: '2024-05-01', exact: true }).waitFor()
})

/** Picked local times, what the form says about them, and what is stored. */
test.each([
  ['2024-07-01T12:00', 'In UTC: 2024-07-01T10:00:00Z', '2024-07-01T10:00:00Z'],
  ['2024-01-01T00:30:15', 'In UTC: 2023-12-31T23:30:15Z', '2023-12-31T23:30:15Z'],
  [
    '2024-03-31T02:30',
    'This time does not exist in Europe/Berlin, because clocks are set forward. 2024-03-31 03:30:00+02:00 is sent.',
    '2024-03-31T01:30:00Z',
  ],
  [
    '2024-10-27T02:30',
    'This time exists twice in Europe/Berlin, because clocks are set back. 2024-10-27 02:30:00+02:00 is sent.',
    '2024-10-27T00:30:00Z',
  ],
])('the local time %s is stored as the instant that the form names: %s', async (picked, hint, stored) => {
  await open('#/concert/1/edit')
  await chooseLocalTime()
  const input = page.getByLabel('starts Europe/Berlin')
  await expectInput(input, '2024-02-29T11:20:30')
  await input.fill(picked)
  await page.getByText(hint).waitFor()
  // The description of the type names another time zone than that of the picker.
  await expectNone(page.getByText('A date and time in UTC'))
  await request().getByText(`{"starts":"${stored}"}`).waitFor()
  expect(await barriers(page)).toEqual([])
  await button('Save').click()
  await heading('concert 1 Winter').waitFor()
  expect((await concerts().findOneByOrFail({ id: 1 })).starts).toEqual(new Date(stored))
})

test('of the two instants of a repeated hour, the later one can be chosen', async () => {
  await open('#/concert/1/edit')
  await chooseLocalTime()
  await picker().fill('2024-10-27T02:30')
  await button('Send 2024-10-27 02:30:00+01:00 instead').click()
  await page.getByText('2024-10-27 02:30:00+01:00 is sent.').waitFor()
  await expectInput(picker(), '2024-10-27T02:30')
  await button('Save').click()
  await heading('concert 1 Winter').waitFor()
  expect((await concerts().findOneByOrFail({ id: 1 })).starts).toEqual(new Date('2024-10-27T01:30:00Z'))
})

test('a change of the time zone during an edit keeps the instant', async () => {
  await open('#/concert/1/edit')
  await picker().fill('2024-07-01T12:00')
  await chooseLocalTime()
  await expectInput(picker(), '2024-07-01T14:00')
  await button('Save').click()
  await heading('concert 1 Winter').waitFor()
  expect((await concerts().findOneByOrFail({ id: 1 })).starts).toEqual(new Date('2024-07-01T12:00:00Z'))
})

async function chooseFilter(field: string, comparison: string): Promise<void> {
  await button('Add a filter').click()
  await page.getByRole('combobox', { name: 'Field' }).selectOption(field)
  await page.getByRole('combobox', { name: 'Comparison' }).selectOption(comparison)
}

test('filters on date-times have a picker, in the time zone of the page', async () => {
  await open('#/concert')
  await chooseLocalTime()
  await chooseFilter('starts', '≤')
  await picker().fill('2024-02-29T11:20:30')
  expect(await barriers(page)).toEqual([])
  await button('Filter').click()
  await expectColumn('title', ['Winter'])
  await expectLength(1)
  expect(new URL(page.url()).hash).toBe('#/concert?starts__lte=2024-02-29T10%3A20%3A30Z')
  await button('Change the filter starts ≤ 2024-02-29 11:20:30+01:00').click()
  await expectInput(picker(), '2024-02-29T11:20:30')
  await zone().selectOption('UTC')
  await expectInput(picker(), '2024-02-29T10:20:30')
  await picker().fill('2024-02-29T10:20:29')
  await button('Change').click()
  await button('Remove the filter starts ≤ 2024-02-29 10:20:29').waitFor()
  await expectLength(0)
})

test('filters on dates have a picker', async () => {
  await open('#/concert')
  await chooseFilter('announced', '>')
  await page.locator('input[type=date]').fill('2024-04-30')
  await button('Filter').click()
  await expectColumn('title', ['Summer'])
  await expectLength(1)
  expect(new URL(page.url()).hash).toBe('#/concert?announced__gt=2024-04-30')
})

test('several date-times, and those that a picker cannot show, are typed', async () => {
  await open('#/concert?starts__gt=2024-02-29T10%3A20%3A30.5Z')
  await expectLength(1)
  await button('Change the filter starts > 2024-02-29T10:20:30.5Z').click()
  await expectInput(page.getByLabel('Value', { exact: true }), '2024-02-29T10:20:30.5Z')
  await page.getByRole('combobox', { name: 'Comparison' }).selectOption('is one of')
  await page.getByLabel('Value', { exact: true }).fill('2024-02-29T11:20:30+01:00,2024-07-01 18:00:00')
  await button('Change').click()
  await button('Remove the filter starts is one of 2024-02-29 10:20:30,2024-07-01 18:00:00').waitFor()
  await expectLength(2)
})

test.each([
  ['light', 320],
  ['dark', 1280],
] as const)('the choice of the time zone and the pickers fit a %s window of %d px', async (colorScheme, width) => {
  for (const fragment of ['#/concert', '#/concert/1/edit']) {
    await open(fragment, { colorScheme, viewport: { width, height: 640 } })
    await chooseLocalTime()
    if (fragment === '#/concert') await chooseFilter('starts', '≥')
    await picker().fill('2024-10-27T02:30')
    await button('Send 2024-10-27 02:30:00+01:00 instead').waitFor()
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0)
    expect(await barriers(page)).toEqual([])
  }
})
