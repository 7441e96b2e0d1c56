import { CardLedger, type CardState, CardWriters } from './card-writers'
import { atEnd } from './cleanup'
import { startMariadb, startPostgres } from './clusters'
import { Card, Deck } from './entities'
import { type CopyOptions, LiveCopy } from './live-copy'
import { openSite, type Site, type SourceOptions } from './site'
import { byForm, logFigures, until } from './time'

/** Live lists while many clients write: every subscriber ends with the list that GET returns (specification: Live lists). */

const writers = 20
const turns = byForm({ short: 20, long: 250 })

/** The lists that clients subscribe to, and which cards belong to them. */
const lists: readonly { readonly path: string; readonly user: string; readonly sees: (card: CardState) => boolean }[] =
  [
    { path: 'card/', user: 'root', sees: () => true },
    { path: 'card/', user: 'ann:red', sees: ({ team }) => team === 'red' },
    { path: 'card/', user: 'bob:blue', sees: ({ team }) => team === 'blue' },
    { path: 'card/?state=open', user: 'root', sees: ({ state }) => state === 'open' },
    { path: 'card/?state=open', user: 'ann:red', sees: ({ team, state }) => team === 'red' && state === 'open' },
    { path: 'card/?deck__shelf=left', user: 'ann:red', sees: ({ team }) => team === 'red' },
    { path: 'card/?include=deck', user: 'bob:blue', sees: ({ team }) => team === 'blue' },
  ]

describe.each([
  { name: 'SQLite', open: async (): Promise<SourceOptions> => ({ type: 'better-sqlite3', database: ':memory:' }) },
  { name: 'PostgreSQL', open: async (): Promise<SourceOptions> => (await startPostgres()).source },
  { name: 'MariaDB', open: async (): Promise<SourceOptions> => (await startMariadb()).source },
])('$name', ({ name, open }) => {
  let site: Site
  const opened: LiveCopy[] = []
  const openCopy = (options: CopyOptions): LiveCopy => {
    const copy = new LiveCopy(() => site.url, options)
    opened.push(copy)
    return copy
  }
  afterEach(() => Promise.all(opened.splice(0).map((copy) => copy.close())))
  beforeAll(async () => {
    site = await openSite({ source: await open(), mount: { live: true } })
    atEnd(site.close)
    await site.dataSource.getRepository(Deck).insert([{ shelf: 'left' }, { shelf: 'right' }])
  })

  test(`with ${writers} writers, subscribers receive committed states in order, and end with the list of GET`, async () => {
    const ledger = new CardLedger()
    const copies = lists.flatMap((list) => [
      { ...list, copy: openCopy(list) },
      { ...list, copy: openCopy({ ...list, disconnectsWithin: 300 }) },
      { ...list, copy: openCopy({ ...list, disconnectsWithin: 60 }) },
    ])
    const work = new CardWriters(() => site.url, ledger, writers, turns, {
      change: (id, state, commits) =>
        site.dataSource
          .transaction(async (manager) => {
            await manager.update(Card, id, state)
            if (!commits) throw new Error('rolled back')
          })
          .catch((error: unknown) => {
            if (commits) throw error
          }),
    })
    await work.done()
    for (const { copy } of copies) copy.settle()
    for (const { copy, user } of copies) {
      const expected = await copy.read()
      await until(`${user} has ${copy.options.path}`, () => copy.isOpen && copy.text === expected).catch(() =>
        expect([copy.options.path, copy.text]).toEqual([copy.options.path, expected]),
      )
    }
    logFigures(`live lists with ${writers} writers, ${name}`, {
      writes: ledger.writes,
      events: copies.reduce((sum, { copy }) => sum + copy.events.length, 0),
      resets: copies.reduce((sum, { copy }) => sum + copy.events.filter((event) => event.name === 'reset').length, 0),
      connections: copies.reduce((sum, { copy }) => sum + copy.connections, 0),
    })
    expect(copies.flatMap(({ copy, sees }) => ledger.mistakesIn(copy, sees)).slice(0, 5)).toEqual([])
    expect([...new Set(work.surprises)].slice(0, 5)).toEqual([])
    expect(copies.flatMap(({ copy }) => copy.refusals)).toEqual([])
    expect(site.faults).toEqual([])
  })
})
