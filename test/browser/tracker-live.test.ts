import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import type { Page } from 'playwright-core'
import { DataSource } from 'typeorm'
import { freePort, send } from '../client'
import { Visitor } from './browser'

/** The board of the tracker in two browsers, served by two processes over PostgreSQL: each shows what the other changes. */

const serverUrl = process.env['TEST_POSTGRES_URL']
const program = resolve(__dirname, '../../sample/dist/tracker/main.js')
const database = `tracker_live_${process.pid}`
const moves = 20

const processes: ChildProcess[] = []
let visitor: Visitor

beforeAll(async () => {
  visitor = await Visitor.arrive()
})
afterEach(async () => {
  for (const child of processes) child.kill()
  await Promise.all(processes.splice(0).map((child) => child.exitCode === null && once(child, 'exit')))
})
afterAll(() => visitor.leave())

/** Starts a process and waits until it responds. @param databaseUrl empty for a database in memory. @returns its URL */
async function start(databaseUrl: string): Promise<string> {
  const port = await freePort()
  const env = { ...process.env, PORT: String(port), DATABASE_URL: databaseUrl }
  processes.push(spawn(process.execPath, [program], { env, stdio: ['ignore', 'ignore', 'inherit'] }))
  for (let attempt = 0; attempt < 300; attempt++) {
    const isReady = await send(`http://127.0.0.1:${port}`, 'GET /api/task/').then(
      ({ status }) => status === 401,
      () => false,
    )
    if (isReady) return `http://127.0.0.1:${port}`
    await new Promise((wake) => setTimeout(wake, 100))
  }
  throw new Error('the tracker does not answer')
}

async function open(url: string, username: string): Promise<Page> {
  const page = await visitor.open(`${url}/`)
  await page.getByLabel('User name').fill(username)
  await page.getByLabel('Password').fill(username)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('navigation', { name: 'Pages' }).waitFor()
  return page
}

/** Moves a card in the first browser, and waits for it in the second one. @returns the median time, in milliseconds */
async function moveCards(mover: Page, watcher: Page): Promise<number> {
  await mover.getByRole('link', { name: 'Build', exact: true }).click()
  await mover.getByLabel('State').waitFor()
  const times: number[] = []
  for (let move = 0; move < moves; move++) {
    const state = move % 2 === 0 ? 'done' : 'open'
    const written = mover.waitForResponse((response) => /^(PUT|PATCH)$/.test(response.request().method()))
    const shown = watcher
      .getByRole('region', { name: new RegExp(`^${state}`) })
      .getByRole('link', { name: 'Build', exact: true })
      .waitFor()
      .then(() => performance.now())
    // The page loads the task again after each write.
    const reloaded = mover.waitForResponse((response) => response.url().includes('include='))
    await mover.getByLabel('State').selectOption(state)
    await written
    const startTime = performance.now()
    times.push((await shown) - startTime)
    await reloaded
  }
  return times.toSorted((a, b) => a - b)[moves / 2] ?? 0
}

test('a card that is moved in one browser moves in the other', async () => {
  const url = await start('')
  const median = await moveCards(await open(url, 'bob'), await open(url, 'ann'))
  console.info(`two browsers, one process: median ${median.toFixed(0)} ms from the response to the other board`)
  expect(await visitor.finish()).toEqual([])
})

// PostgreSQL is not available everywhere.
if (serverUrl !== undefined) {
  test('the same with two processes over PostgreSQL', async () => {
    const admin = await new DataSource({ type: 'postgres', url: serverUrl }).initialize()
    await admin.query(`CREATE DATABASE ${database}`)
    try {
      const url = new URL(serverUrl)
      url.pathname = database
      const [first, second] = [await start(url.href), await start(url.href)]
      const median = await moveCards(await open(first, 'bob'), await open(second, 'ann'))
      console.info(`two browsers, two processes: median ${median.toFixed(0)} ms from the response to the other board`)
      expect(await visitor.finish()).toEqual([])
    } finally {
      await admin.query(`DROP DATABASE ${database} WITH (FORCE)`)
      await admin.destroy()
    }
  })
}
