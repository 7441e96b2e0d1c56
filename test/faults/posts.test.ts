import { atEnd } from './cleanup'
import { type Cluster, startMariadb, startPostgres } from './clusters'
import { noDifferences } from './ledger'
import { mixedLoad, posts, storedTags } from './mixed-load'
import { openSite, type SourceOptions } from './site'
import { logFigures } from './time'

declare global {
  /** The drivers that are tested with this version of TypeORM (jest.config.js). */
  var faultDatabases: readonly string[] | undefined
}

const databases = globalThis.faultDatabases ?? ['better-sqlite3', 'postgres', 'mariadb']

describe.each(databases)('%s', (database) => {
  let source: SourceOptions
  beforeAll(async () => {
    source = await sourceOf(database)
  })

  test.each([
    { when: 'at once', spread: 0 },
    { when: 'spread over 200 ms', spread: 200 },
  ])(
    'of 200 posts $when, in parallel with transactions of the application, exactly the acknowledged ones are stored',
    async ({ when, spread }) => {
      // Long enough for a busy machine, since the test is not about the time that requests wait.
      const site = await openSite({ source, mount: { waitLimit: 60_000 } })
      atEnd(site.close)
      const { ledger, stored, dirty } = await mixedLoad(site, spread)
      const audit = ledger.audit(stored)
      logFigures(`${posts} posts ${when}, ${database}`, {
        acknowledged: ledger.acknowledged.size,
        lost: audit.lost.length,
        refused: ledger.refused.size,
        failed: ledger.failed.size,
        'dirty reads': dirty.length,
      })
      expect(audit).toEqual(noDifferences)
      expect(ledger.failedButStored(stored)).toEqual([])
      expect(dirty).toEqual([])
      // All valid records are stored, and only those that the subscriber rejects are faults.
      expect([...ledger.failed].filter((tag) => !/^(veto|undone)/.test(tag))).toEqual([])
      expect(ledger.acknowledged.size).toBeGreaterThan(posts / 3)
      expect(ledger.refused.size).toBeGreaterThan(posts / 4)
      // The site still works afterwards.
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
