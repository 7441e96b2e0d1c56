import { atEnd } from './cleanup'
import { type Cluster, startMariadb, startPostgres } from './clusters'
import { inOrder } from './ledger'
import { mixedLoad, posts, storedTags } from './mixed-load'
import { openSite, type SourceOptions } from './site'
import { tell } from './time'

declare global {
  /** The databases that the line of TypeORM is tested with; jest.config.js says it. */
  var faultDatabases: readonly string[] | undefined
}

const databases = globalThis.faultDatabases ?? ['better-sqlite3', 'postgres', 'mariadb']

describe.each(databases)('%s', (database) => {
  let source: SourceOptions
  beforeAll(async () => {
    source = await sourceOf(database)
  }, 60_000)

  test.each([
    { when: 'at once', spread: 0 },
    { when: 'spread over 200 ms', spread: 200 },
  ])(
    '200 posts $when beside transactions of the application: what is acknowledged is stored, and nothing else',
    async ({ when, spread }) => {
      // How long one waits is not what this is about, and on a busy machine it is long.
      const site = await openSite({ source, mount: { waitLimit: 60_000 } })
      atEnd(site.close)
      const { ledger, stored, dirty } = await mixedLoad(site, spread)
      const audit = ledger.audit(stored)
      tell(`${posts} posts ${when}, ${database}`, {
        acknowledged: ledger.acknowledged.size,
        lost: audit.lost.length,
        refused: ledger.refused.size,
        failed: ledger.failed.size,
        'dirty reads': dirty.length,
      })
      expect(audit).toEqual(inOrder)
      expect(ledger.failedButStored(stored)).toEqual([])
      expect(dirty).toEqual([])
      // All that is right gets in, and only what the subscriber rejects is a fault.
      expect([...ledger.failed].filter((tag) => !/^(veto|undone)/.test(tag))).toEqual([])
      expect(ledger.acknowledged.size).toBeGreaterThan(posts / 3)
      expect(ledger.refused.size).toBeGreaterThan(posts / 4)
      // It goes on as before.
      expect((await ledger.post(site.url, 'memo', 'afterwards')).status).toBe(201)
      expect(await storedTags(site.dataSource)).toContain('afterwards')
    },
    120_000,
  )
})

async function sourceOf(database: string): Promise<SourceOptions> {
  if (database === 'postgres') return sourceOn(await startPostgres())
  if (database === 'mariadb') return sourceOn(await startMariadb())
  return { type: database, database: ':memory:' }
}

function sourceOn({ source }: Cluster): SourceOptions {
  return { ...source, dropSchema: true }
}
