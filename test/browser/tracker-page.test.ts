import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { BrowserContextOptions, Locator, Page } from 'playwright-core'
import { staticFiles } from '../../sample/static-files'
import { Entry } from '../../sample/tracker/billing'
import { Task } from '../../sample/tracker/projects'
import { openTracker, type Tracker } from '../support/tracker'
import { barriers, eventually, Visitor } from './browser'

/** The page of the tracker (sample/tracker/page): what each view shows, and that it needs one request. */

let tracker: Tracker
let visitor: Visitor
let page: Page
/** Requests to the service that the page has sent, as method and path with query. */
let requests: string[]

beforeAll(async () => {
  const files = staticFiles('/', resolve(__dirname, '../../sample/dist/tracker/page'), 'sample:tracker')
  tracker = await openTracker({ before: (app) => void app.use(files) })
  visitor = await Visitor.arrive()
})
afterEach(async () => expect(await visitor.finish()).toEqual([]))
afterAll(async () => {
  await visitor.leave()
  await tracker.close()
  expect(tracker.world.faults).toEqual([])
})

const button = (name: string): Locator => page.getByRole('button', { name, exact: true })
const link = (name: string): Locator => page.getByRole('link', { name, exact: true })
const heading = (name: string): Locator => page.getByRole('heading', { level: 1, name, exact: true })

/** Opens a view in a new page, signs in, and waits until the view is loaded. */
async function open(username: string, fragment: string, options?: BrowserContextOptions): Promise<void> {
  page = await visitor.open(`${tracker.world.url}/${fragment}`, options)
  requests = []
  page.on('request', (request) => {
    const { pathname, search } = new URL(request.url())
    if (pathname.startsWith('/api/')) requests.push(`${request.method()} ${pathname}${search}`)
  })
  await signIn(username)
  await button(`Sign out ${username}`).waitFor()
}

async function signIn(username: string, password = username): Promise<void> {
  await page.getByLabel('User name').fill(username)
  await page.getByLabel('Password').fill(password)
  await button('Sign in').click()
}

/** Fails if a view that is shown has sent no request, or more than one. */
async function expectOneRequest(path: string): Promise<void> {
  // Time for further requests.
  await setTimeout(500)
  expect(requests).toEqual([expect.stringMatching(`^GET /api/${path}`)])
}

/** Texts of the cards of each column of the board, without line breaks. */
async function cards(): Promise<Readonly<Record<string, readonly string[]>>> {
  await page.getByRole('navigation', { name: 'Pages' }).waitFor()
  const columns = await page.getByRole('region').all()
  const entries = columns.map(async (column) => {
    const texts = await column.getByRole('listitem').allInnerTexts()
    return [await column.getByRole('heading').innerText(), texts.map((text) => text.replace(/\s+/g, ' '))] as const
  })
  return Object.fromEntries(await Promise.all(entries))
}

async function table(name: string): Promise<readonly string[]> {
  await page.getByRole('table', { name }).waitFor()
  return page.getByRole('table', { name }).getByRole('row').allInnerTexts()
}

test('a wrong password is reported', async () => {
  page = await visitor.open(`${tracker.world.url}/`)
  await signIn('bob', 'wrong')
  await page.getByRole('alert').filter({ hasText: 'The name or the password is wrong.' }).waitFor()
})

test.each([
  [
    'ann',
    {
      'open (1)': ['Draw Atlas, bob urgent red 2 comments'],
      // A tag of another company is not visible.
      'doing (1)': ['Build Apollo, cleo 0 comments'],
      'done (0)': [],
    },
  ],
  [
    'cleo',
    {
      'open (1)': ['Draw Atlas, bob urgent red 2 comments'],
      'doing (1)': ['Build Apollo, cleo black 0 comments'],
      'done (1)': ['Hide Saturn, cleo black 1 comments'],
    },
  ],
  ['eve', { 'open (0)': [], 'doing (0)': [], 'done (0)': [] }],
])('the board of %s has the tasks of the own companies, with one request', async (username, expected) => {
  await open(username, '')
  expect(await cards()).toEqual(expected)
  await expectOneRequest('task/')
})

test('the board shows the tasks of a project, and finds tasks', async () => {
  await open('ann', '#/board')
  await link('Atlas').click()
  await page.getByText('1–1 of 1 tasks').waitFor()
  await link('All tasks').click()
  await page.getByText('1–2 of 2 tasks').waitFor()
  await page.getByLabel('Words').fill('apollo')
  await button('Search').click()
  await page.getByText('1–1 of 1 tasks').waitFor()
  await link('Build').waitFor()
})

test('the board of a project of another company is empty', async () => {
  await open('ann', '#/board?project=3')
  expect(await cards()).toEqual({ 'open (0)': [], 'doing (0)': [], 'done (0)': [] })
})

test('the board has pages', async () => {
  const tasks = Array.from({ length: 24 }, (_, index) => ({ title: `Task ${index}`, project: { id: 4 } }))
  await tracker.world.dataSource.getRepository(Task).insert(tasks)
  await open('fay', '#/board?search=gemini')
  await page.getByText('1–20 of 25 tasks').waitFor()
  await expectOneRequest('task/')
  await link('Next').click()
  await page.getByText('21–25 of 25 tasks').waitFor()
  await link('Pack').waitFor()
  await link('Previous').click()
  await page.getByText('1–20 of 25 tasks').waitFor()
})

test('a task is shown with its comments and their authors, with one request', async () => {
  await open('ann', '#/task/1')
  await heading('Draw').waitFor()
  expect(await page.getByRole('listitem').allInnerTexts()).toEqual(['bob\n\nFirst sketch', 'dan\n\nLooks good'])
  await page.getByText('Atlas, bob urgent red').waitFor()
  await expectOneRequest('task/1/')
})

test('a comment can be added', async () => {
  await open('dan', '#/task/4')
  await page.getByLabel('New comment').fill('<b>Done</b>')
  await button('Add').click()
  await page.getByRole('listitem').getByText('<b>Done</b>').waitFor()
  expect(await page.getByLabel('New comment').inputValue()).toBe('')
  await button('Add').click()
  expect(await tracker.idsOf('dan', 'comment/?text=<b>Done</b>')).toHaveLength(1)
})

test('a task can be moved, but not over the change of another user', async () => {
  await open('bob', '#/task/2')
  // The new title is shown when the page has loaded the task again after the write, and rendered it.
  await tracker.as('ann', 'PATCH task/2/', { body: { title: 'Moved' } })
  await page.getByLabel('State').selectOption('done')
  await page.getByRole('heading', { name: 'Moved' }).waitFor()
  expect(await tracker.idsOf('ann', 'task/?state=done')).toEqual([2])
  await tracker.as('ann', 'PATCH task/2/', { body: { state: 'open' } })
  await page.getByLabel('State').selectOption('doing')
  await page.getByRole('alert').filter({ hasText: 'Another user has changed the state to open.' }).waitFor()
  expect(await tracker.idsOf('ann', 'task/?id=2&state=open')).toEqual([2])
  await eventually(async () => expect(await page.getByLabel('State').inputValue()).toBe('open'))
  await page.getByLabel('State').selectOption('doing')
  await eventually(async () => expect(await tracker.idsOf('ann', 'task/?state=doing')).toEqual([2]))
})

test('a guest cannot move a task', async () => {
  await open('dan', '#/task/1')
  await page.getByLabel('State').selectOption('done')
  await page.getByRole('alert').filter({ hasText: 'you may not change this task' }).waitFor()
  await eventually(async () => expect(await page.getByLabel('State').inputValue()).toBe('open'))
})

test('a task of another company does not exist', async () => {
  await open('ann', '#/task/3')
  await page.getByRole('alert').filter({ hasText: 'there is no task with this id' }).waitFor()
})

test('the dashboard has sums by week, project and person, with one request', async () => {
  await open('cleo', '#/dashboard')
  expect(await table('Minutes by week and project')).toEqual([
    'Week of\tAtlas\tApollo\tSaturn\tAll projects',
    '2026-03-02\t90\t60\t240\t390',
    'All weeks\t90\t60\t240\t390',
  ])
  expect(await table('Minutes by person')).toEqual(['Person\tEntries\tMinutes', 'bob\t1\t90', 'cleo\t2\t300'])
  await expectOneRequest('entry/')
})

test('the dashboard of a guest has no entries of the project', async () => {
  await open('dan', '#/dashboard')
  expect(await table('Minutes by person')).toEqual(['Person\tEntries\tMinutes', 'dan\t1\t45'])
})

test('the dashboard leaves out weeks of which it does not have all groups', async () => {
  const firstDay = Date.UTC(2027, 0, 4)
  const entries = Array.from({ length: 1002 }, (_, index) => ({
    day: new Date(firstDay + (index >> 1) * 7 * 86_400_000).toISOString().slice(0, 10),
    minutes: 1,
    task: { id: 4 },
    person: { id: index % 2 === 0 ? 4 : 6 },
  }))
  await tracker.world.dataSource.getRepository(Entry).insert(entries)
  await open('fay', '#/dashboard')
  const rows = await table('Minutes by week and project')
  await expectOneRequest('entry/')
  // The oldest two of 502 weeks are beyond the limit of 1,000 groups, and 2027-01-11 is the last of the limit.
  expect(rows.slice(-2)).toEqual(['2027-01-18\t2\t2', 'All weeks\t998\t998'])
})

test('time entries are downloaded as CSV, with one request', async () => {
  await open('ann', '#/export')
  await page.getByLabel('From').fill('2026-03-02')
  await page.getByLabel('Until').fill('2026-03-02')
  const [download] = await Promise.all([page.waitForEvent('download'), button('Download the time entries').click()])
  expect(download.suggestedFilename()).toBe('entries.csv')
  expect(readFileSync(await download.path(), 'utf8').split('\r\n')).toEqual([
    'id,minutes,day,task_id,person_id',
    '1,90,2026-03-02,1,2',
    '2,60,2026-03-02,2,3',
    '',
  ])
  await expectOneRequest('entry/')
})

const looks: readonly BrowserContextOptions[] = [
  { colorScheme: 'light' },
  { colorScheme: 'dark', viewport: { width: 320, height: 640 } },
]

test.each(looks)(
  'axe finds no accessibility problem, and no view is wider than the window: $colorScheme',
  async (look) => {
    const found: Record<string, unknown> = {}
    const check = async (view: string): Promise<void> => {
      const isWider = await page.evaluate<boolean>('document.documentElement.scrollWidth > innerWidth')
      found[view] = [...(await barriers(page)), ...(isWider ? ['wider than the window'] : [])]
    }
    await open('cleo', '#/board', look)
    for (const [fragment, text] of [
      ['#/board', '1–3 of 3 tasks'],
      ['#/task/1', 'First sketch'],
      ['#/dashboard', 'Minutes by person'],
      ['#/export', 'Until'],
      ['#/task/99', 'there is no task with this id'],
    ] as const) {
      await page.evaluate(`location.hash = '${fragment}'`)
      await page.getByText(text).first().waitFor()
      await check(fragment)
    }
    await button('Sign out cleo').click()
    await heading('Sign in').waitFor()
    await check('sign-in')
    expect(found).toEqual(Object.fromEntries(Object.keys(found).map((view) => [view, []])))
  },
)
