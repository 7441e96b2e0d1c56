import { Agent, request } from 'node:http'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { send } from '../client'
import { startChildSite } from './child-site'
import { temporaryDirectory } from './cleanup'
import { inOrder, Ledger } from './ledger'
import type { SourceOptions } from './site'
import { byForm, tell } from './time'

/** How many writes are acknowledged before the site is killed, each time. */
const enough = byForm({ short: 1_000, long: 10_000 })
const clients = 20

test(`kill -9 under ${enough} acknowledged writes on SQLite: none is lost, and the site comes back`, async () => {
  const database = join(temporaryDirectory(), 'site.sqlite')
  // The process dies, not the machine: what the operating system has been given is kept.
  const source: SourceOptions = { type: 'better-sqlite3', database, enableWAL: true }
  const ledger = new Ledger()
  const site = await startChildSite({ source })
  await writeUntilKilled(site.url, ledger, () => void site.end('SIGKILL'))
  expect(site.errors()).toBe('')

  const { stored, integrity } = look(database)
  const started = performance.now()
  const again = await startChildSite({ source })
  expect((await send(again.url, 'GET /api/note/?limit=1')).status).toBe(200)
  const boot = Math.round(performance.now() - started)
  const audit = ledger.audit(stored)
  tell('kill -9 of a site on SQLite', {
    acknowledged: ledger.acknowledged.size,
    lost: audit.lost.length,
    'attempted and stored': stored.length - ledger.acknowledged.size,
    'first answer after ms': boot,
  })
  expect(audit).toEqual(inOrder)
  expect(integrity).toEqual([{ integrity_check: 'ok' }])
  expect(ledger.acknowledged.size).toBeGreaterThanOrEqual(enough)
  expect((await ledger.post(again.url, 'note', 'afterwards')).status).toBe(201)
  // Most of it is Node.js that reads the tests' TypeScript, on a machine with other work.
  expect(boot).toBeLessThan(5_000)
}, 120_000)

/** Writes over connections that are kept, until there is enough and every one of them breaks. */
async function writeUntilKilled(url: string, ledger: Ledger, kill: () => void): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: clients })
  const write = async (client: number): Promise<void> => {
    for (let turn = 0; ; turn++) {
      const tag = `${client}-${turn}`
      const resource = turn % 2 === 0 ? 'note' : 'memo'
      ledger.attempted.add(tag)
      const status = await post(agent, `${url}/api/${resource}/`, { tag }).catch(() => undefined)
      if (status === undefined) return
      ledger.note(tag, status)
      if (ledger.acknowledged.size === enough) kill()
    }
  }
  await Promise.all(Array.from({ length: clients }, (_, client) => write(client)))
  agent.destroy()
}

/** An answer counts from its first line: it is then that the client believes it. */
function post(agent: Agent, url: string, body: object): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { 'Content-Type': 'application/json' }
    const outgoing = request(url, { agent, method: 'POST', headers }, (incoming) => {
      incoming.on('error', () => {}).resume()
      resolve(incoming.statusCode ?? 0)
    })
    outgoing.on('error', reject)
    outgoing.end(JSON.stringify(body))
  })
}

/** What is in the file, without the site. */
function look(database: string): { readonly stored: readonly string[]; readonly integrity: unknown } {
  const file = new Database(database)
  const rows = file.prepare('SELECT tag FROM note UNION ALL SELECT tag FROM memo').all() as { tag: string }[]
  const integrity = file.pragma('integrity_check')
  file.close()
  return { stored: rows.map(({ tag }) => tag), integrity }
}
