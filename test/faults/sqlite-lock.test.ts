import { lockSqlite } from 'typeorm-resources'
import { atEnd } from './cleanup'
import { Note } from './entities'
import { noDifferences } from './ledger'
import { mixedLoad, storedTags } from './mixed-load'
import { openSite, type Site, type SiteOptions } from './site'
import { logFigures } from './time'

const drivers = (globalThis.faultDatabases ?? ['better-sqlite3']).filter((name) => /sqlite/.test(name))

describe.each(drivers)('%s', (driver) => {
  const open = async (options: Omit<SiteOptions, 'source'> = {}): Promise<Site> => {
    const site = await openSite({ source: { type: driver, database: ':memory:' }, ...options })
    atEnd(site.close)
    return site
  }

  test('without the lock acknowledged writes are lost or fail, which shows that it is needed', async () => {
    const site = await open({ mount: { sqliteLock: false } })
    const { ledger, stored } = await mixedLoad(site, 200)
    const { lost } = ledger.audit(stored)
    const failed = [...ledger.failed].filter((tag) => !/^(veto|undone)/.test(tag))
    logFigures(`without the lock, ${driver}`, {
      acknowledged: ledger.acknowledged.size,
      lost: lost.length,
      'failed for no fault of theirs': failed.length,
    })
    expect(lost.length + failed.length).toBeGreaterThan(0)
  })

  test('with a lock that the application has installed itself no writes are lost', async () => {
    const site = await open({ mount: { sqliteLock: false } })
    lockSqlite(site.dataSource)
    const { ledger, stored, dirty } = await mixedLoad(site, 200)
    logFigures(`with the lock, ${driver}`, {
      acknowledged: ledger.acknowledged.size,
      lost: ledger.audit(stored).lost.length,
    })
    expect(ledger.audit(stored)).toEqual(noDifferences)
    expect(dirty).toEqual([])
  })

  test('a lock that is installed twice, and used by two mounts, is one lock', async () => {
    const site = await open()
    lockSqlite(site.dataSource)
    lockSqlite(site.dataSource)
    await site.dataSource.transaction((manager) => manager.insert(Note, { tag: 'inner' }))
    expect(await storedTags(site.dataSource)).toEqual(['inner'])
  })

  test("a repository that is used inside of another manager's transaction soon gets an error, and the site still works", async () => {
    const site = await open({ mount: { waitLimit: 500 } })
    const { dataSource } = site
    const started = Date.now()
    const wrong = dataSource.transaction(async (manager) => {
      await manager.insert(Note, { tag: 'outer' })
      await dataSource.getRepository(Note).insert({ tag: 'beside' })
    })
    await expect(wrong).rejects.toThrow()
    const took = Date.now() - started
    logFigures(`a repository inside of a transaction, ${driver}`, { 'error after ms': took })
    expect(took).toBeLessThan(2_000)
    await dataSource.getRepository(Note).insert({ tag: 'after' })
    expect(await storedTags(dataSource)).toEqual(['after'])
  })

  test('nested transactions of one manager are one transaction with savepoints', async () => {
    const { dataSource } = await open()
    await dataSource.transaction(async (manager) => {
      await manager.insert(Note, { tag: 'outer' })
      const inner = manager.transaction(async (nested) => {
        await nested.insert(Note, { tag: 'nested' })
        throw new Error('undone')
      })
      await expect(inner).rejects.toThrow('undone')
    })
    expect(await storedTags(dataSource)).toEqual(['outer'])
  })
})
