import { execFileSync } from 'node:child_process'
import { renameSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Reply, send } from '../client'
import { type ChildSite, startChildSite } from './child-site'
import { mountMemory, temporaryDirectory } from './cleanup'
import { describeReply, isUnavailable } from './ledger'

/** The temporary file of an import cannot be created or written: 503, and imports succeed when the cause is gone. */

/** A fault of the temporary directory: how it begins and ends. */
interface DirectoryFault {
  readonly what: string
  /** Creates the directory that will be faulty. */
  readonly create: () => string
  readonly begin: (path: string) => void
  readonly end: (path: string) => void
  /** The code of the reported error. */
  readonly code: string
}

const missing: DirectoryFault = {
  what: 'the directory does not exist',
  create: () => temporaryDirectory(),
  begin: (path) => renameSync(path, `${path}.moved`),
  end: (path) => renameSync(`${path}.moved`, path),
  code: 'ENOENT',
}

const disk = mountMemory(1_048_576)
const readOnlyDisk = mountMemory(1_048_576)

/** Faults of file systems, which require the permission to mount one. */
const diskFaults: readonly DirectoryFault[] = [
  {
    what: 'the disk is full',
    create: () => disk ?? '',
    begin: (path) => {
      const { bavail, bsize } = statfsSync(path)
      writeFileSync(join(path, 'filler'), Buffer.alloc(bavail * bsize))
    },
    end: (path) => rmSync(join(path, 'filler')),
    code: 'ENOSPC',
  },
  {
    what: 'the disk becomes full while the body arrives',
    create: () => disk ?? '',
    begin: (path) => {
      const { bavail, bsize } = statfsSync(path)
      writeFileSync(join(path, 'filler'), Buffer.alloc(bavail * bsize - 100_000))
    },
    end: (path) => rmSync(join(path, 'filler')),
    code: 'ENOSPC',
  },
  {
    what: 'the disk is read-only',
    create: () => readOnlyDisk ?? '',
    begin: (path) => void execFileSync('mount', ['-o', 'remount,ro', path]),
    end: (path) => void execFileSync('mount', ['-o', 'remount,rw', path]),
    code: 'EROFS',
  },
]

let imported = 0

/** Imports records in a body of at least this size. */
function importItems(site: ChildSite, bytes: number): Promise<Reply> {
  const pack = ++imported
  const lines: string[] = []
  for (let size = 0; size < bytes; size += lines.at(-1)?.length ?? 0) {
    lines.push(`${JSON.stringify({ pack, part: 0, tag: `${pack}-${lines.length}`.padEnd(60, '-') })}\n`)
  }
  const headers = { 'Content-Type': 'application/x-ndjson' }
  return send(site.url, 'POST /api/item/', { body: lines.join(''), headers })
}

const large = 200_000

test.each(disk === undefined ? [missing] : [missing, ...diskFaults])(
  '$what: large imports get 503 and the cause is reported, small ones succeed, and large ones when the cause is gone',
  async ({ create, begin, end, code }) => {
    const directory = create()
    const site = await startChildSite({
      source: { type: 'better-sqlite3', database: ':memory:' },
      environment: { TMPDIR: directory },
    })
    expect((await importItems(site, large)).status).toBe(201)

    begin(directory)
    const refusedPack = imported + 1
    const refused = await importItems(site, large)
    const small = await importItems(site, 1000)
    end(directory)

    expect(isUnavailable(refused) ? 'unavailable' : describeReply(refused)).toBe('unavailable')
    expect(refused.json()).toMatchObject({ detail: 'the server cannot store the body of an import now; try again' })
    expect(site.news.fault).toContain(`cannot store the body of an import in ${directory}: ${code}`)
    expect(small.status).toBe(201)
    expect((await importItems(site, large)).status).toBe(201)
    const stored = await send(site.url, `GET /api/item/?pack=${refusedPack}&limit=0&count=exact`)
    expect(stored.json()).toMatchObject({ meta: { total: 0 } })
  },
)
