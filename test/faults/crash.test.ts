import { Agent, request } from 'node:http'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { send } from '../client'
import { startChildSite } from './child-site'
import { temporaryDirectory } from './cleanup'
import { Ledger, noDifferences } from './ledger'
import type { SourceOptions } from './site'
import { byForm, logFigures } from './time'

/** Number of acknowledged writes before the site is killed. */
const writesBeforeKill = byForm({ short: 1_000, long: 10_000 })
const clients = 20

test(`kill -9 after ${writesBeforeKill} acknowledged writes on SQLite: none is lost, and the site starts again`, async () => {
  const database = join(temporaryDirectory(), 'site.sqlite')
  // The process is killed, not the machine: what has been written to the operating system is kept.
  const source: SourceOptions = { type: 'better-sqlite3', database, enableWAL: true }
  const ledger = new Ledger()
  const site = await startChildSite({ source })
  await writeUntilKilled(site.url, ledger, () => void site.end('SIGKILL'))
  expect(site.errors()).toBe('')

  const { stored, integrity } = readDatabase(database)
  const started = performance.now()
  const again = await startChildSite({ source })
  expect((await send(again.url, 'GET /api/note/?limit=1')).status).toBe(200)
  const boot = Math.round(performance.now() - started)
  const audit = ledger.audit(stored)
  logFigures('kill -9 of a site on SQLite', {
    acknowledged: ledger.acknowledged.size,
    lost: audit.lost.length,
    'attempted and stored': stored.length - ledger.acknowledged.size,
    'first answer after ms': boot,
  })
  expect(audit).toEqual(noDifferences)
  expect(integrity).toEqual([{ integrity_check: 'ok' }])
  expect(ledger.acknowledged.size).toBeGreaterThanOrEqual(writesBeforeKill)
  expect((await ledger.post(again.url, 'note', 'afterwards')).status).toBe(201)
})

/** Writes on keep-alive connections until the site is killed and all connections are closed. */
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
      if (ledger.acknowledged.size === writesBeforeKill) kill()
    }
  }
  await Promise.all(Array.from({ length: clients }, (_, client) => write(client)))
  agent.destroy()
}

/** Sends a POST. The status line of the response counts as the acknowledgement. */
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

/** Reads the file without the site. */
function readDatabase(database: string): { readonly stored: readonly string[]; readonly integrity: unknown } {
  const file = new Database(database)
  const rows = file.prepare('SELECT tag FROM note UNION ALL SELECT tag FROM memo').all() as { tag: string }[]
  const integrity = file.pragma('integrity_check')
  file.close()
  return { stored: rows.map(({ tag }) => tag), integrity }
}
