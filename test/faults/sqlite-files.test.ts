import { fork } from 'node:child_process'
import { once } from 'node:events'
import { renameSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Reply, send } from '../client'
import { atEnd, guardProcess, mountMemory, temporaryDirectory } from './cleanup'
import { describeReply, isUnavailable, Ledger, noDifferences } from './ledger'
import { storedTags } from './mixed-load'
import { openSite, type Site } from './site'
import { logFigures } from './time'

/** A fault of the database file: how it begins and ends. */
interface FileFault {
  readonly what: string
  /** Opens the site with the file that will be faulty. */
  readonly open: () => Promise<{ readonly site: Site; readonly path: string }>
  readonly begin: (site: Site, path: string) => unknown
  readonly end: (site: Site, path: string) => unknown
}

const size = 2_097_152
const disk = mountMemory(size)

const fileFaults: readonly FileFault[] = [
  {
    what: 'the file cannot grow',
    open: () => openFile(temporaryDirectory()),
    begin: async ({ dataSource }) => {
      const [{ page_count: pages } = { page_count: 0 }] = await dataSource.query('PRAGMA page_count')
      await dataSource.query(`PRAGMA max_page_count = ${pages}`)
    },
    end: ({ dataSource }) => dataSource.query('PRAGMA max_page_count = 100000'),
  },
  {
    what: 'the connection is read-only',
    open: () => openFile(temporaryDirectory()),
    begin: ({ dataSource }) => dataSource.query('PRAGMA query_only = 1'),
    end: ({ dataSource }) => dataSource.query('PRAGMA query_only = 0'),
  },
  {
    what: 'the file was moved away',
    // With a rollback journal SQLite checks before a write whether the file is still in its place.
    open: () => openFile(temporaryDirectory(), { enableWAL: false }),
    begin: (_, path) => renameSync(path, `${path}.moved`),
    end: (_, path) => renameSync(`${path}.moved`, path),
  },
]

/** A file system without free space, which requires the permission to mount one. */
const fullDisk: FileFault = {
  what: 'the disk is full',
  open: () => openFile(disk ?? ''),
  begin: () => {
    const { bavail, bsize } = statfsSync(disk ?? '')
    writeFileSync(join(disk ?? '', 'filler'), Buffer.alloc(bavail * bsize))
  },
  end: () => rmSync(join(disk ?? '', 'filler')),
}

test.each(disk === undefined ? fileFaults : [...fileFaults, fullDisk])(
  '$what: writes get 503, reads succeed, no write is stored partly, and writes succeed when the cause is gone',
  async ({ what, open, begin, end }) => {
    const { site, path } = await open()
    const ledger = new Ledger()
    const write = (tag: string): Promise<Reply> =>
      ledger.post(site.url, tag.endsWith('memo') ? 'memo' : 'note', tag.padEnd(60, '-'))
    expect((await write('before')).status).toBe(201)

    await begin(site, path)
    const refused = [await writeUntilRefused(write, ''), await writeUntilRefused(write, '-memo')]
    expect(refused.map((reply) => (isUnavailable(reply) ? 'unavailable' : describeReply(reply)))).toEqual([
      'unavailable',
      'unavailable',
    ])
    expect((await send(site.url, 'GET /api/note/?limit=1')).status).toBe(200)
    await end(site, path)

    const afterwards = [await write('after'), await write('after-memo')]
    expect(afterwards.map(({ status }) => status)).toEqual([201, 201])
    const stored = await storedTags(site.dataSource)
    logFigures(what, {
      acknowledged: ledger.acknowledged.size,
      lost: ledger.audit(stored).lost.length,
      'answered 503': ledger.failed.size,
      'answered 503 and stored': ledger.failedButStored(stored).length,
    })
    expect(ledger.audit(stored)).toEqual(noDifferences)
    expect(ledger.failedButStored(stored)).toEqual([])
    expect(await site.dataSource.query('PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }])
  },
)

test('while another process holds the write lock, writes get 503 and reads succeed; afterwards writes succeed', async () => {
  const { site, path } = await openFile(temporaryDirectory(), { timeout: 100 })
  const ledger = new Ledger()
  expect((await ledger.post(site.url, 'note', 'before')).status).toBe(201)

  const locker = fork(join(__dirname, 'locker.js'), [path])
  guardProcess(locker)
  atEnd(() => locker.kill('SIGKILL'))
  await once(locker, 'message')
  for (const resource of ['note', 'memo']) {
    const reply = await ledger.post(site.url, resource, `locked-${resource}`)
    expect(isUnavailable(reply) ? 'unavailable' : describeReply(reply)).toBe('unavailable')
  }
  expect((await send(site.url, 'GET /api/note/')).status).toBe(200)
  locker.kill('SIGKILL')
  await once(locker, 'exit')

  expect((await ledger.post(site.url, 'note', 'after')).status).toBe(201)
  expect((await ledger.post(site.url, 'memo', 'after-memo')).status).toBe(201)
  const stored = await storedTags(site.dataSource)
  expect(ledger.audit(stored)).toEqual(noDifferences)
  expect(ledger.failedButStored(stored)).toEqual([])
})

async function openFile(
  directory: string,
  options: object = {},
): Promise<{ readonly site: Site; readonly path: string }> {
  const path = join(directory, 'site.sqlite')
  const site = await openSite({ source: { type: 'better-sqlite3', database: path, enableWAL: true, ...options } })
  atEnd(site.close)
  return { site, path }
}

/** Writes until a write is refused, since the first ones fill free space in the pages of the table. */
async function writeUntilRefused(write: (tag: string) => Promise<Reply>, suffix: string): Promise<Reply> {
  for (let index = 0; index < 2_000; index++) {
    const reply = await write(`during-${index}${suffix}`)
    if (reply.status !== 201) return reply
  }
  throw new Error('no write was refused')
}
