import type { EntityTarget } from 'typeorm'
import { type Reply, send } from '../client'
import { atEnd } from './cleanup'
import { startMariadb, startPostgres } from './clusters'
import { Account, Page, Sheet } from './entities'
import { describeReply } from './ledger'
import { openSite, type Site, type SourceOptions } from './site'
import { byForm, logFigures, sleep } from './time'

const rounds = byForm({ short: 50, long: 1_000 })
/** Number of rounds that run at the same time, each with its own record. */
const parallel = 10

type Owned = Page | Sheet

/** Result of a round: the response to the old owner's write, and the record afterwards. */
interface Round {
  readonly status: number
  /** Undefined if the record was deleted. */
  readonly title: string | undefined
  /** Whether the UPDATE that changes the owner found the record. */
  readonly isMoved: boolean
  readonly reply: Reply
}

describe.each([
  { name: 'SQLite', open: async (): Promise<SourceOptions> => ({ type: 'better-sqlite3', database: ':memory:' }) },
  { name: 'PostgreSQL', open: async (): Promise<SourceOptions> => (await startPostgres()).source },
  { name: 'MariaDB', open: async (): Promise<SourceOptions> => (await startMariadb()).source },
])('$name', ({ name, open }) => {
  let site: Site
  beforeAll(async () => {
    site = await openSite({ source: await open() })
    atEnd(site.close)
    const accounts = ['old', 'new'].map((username) => ({ username, password: username }))
    await site.dataSource.getRepository(Account).insert(accounts)
  })

  test.each([
    { resource: 'page', entity: Page },
    { resource: 'sheet', entity: Sheet },
  ])(
    `${rounds} changes of a $resource's owner against a PUT of the old one: it is never stored after the change`,
    async ({ resource, entity }) => {
      const put = (id: number): Promise<Reply> =>
        send(site.url, `PUT /api/${resource}/${id}/`, { as: 'old', body: { title: 'of the old owner' } })
      const outcomes = await race(site, entity, put)
      logRaces(`PUT of a ${resource} against a change of owner, ${name}`, outcomes)
      // The change of owner also sets the title. A PUT before it is overwritten; another title shows a PUT that was stored after it.
      expect(outcomes.filter(({ title }) => title !== 'moved')).toEqual([])
      expect(unexpected(outcomes, [200, 403, 404])).toEqual([])
      expectBoth(outcomes)
    },
    120_000,
  )

  test.each([
    { resource: 'page', entity: Page },
    { resource: 'sheet', entity: Sheet },
  ])(
    `${rounds} changes of a $resource's owner against a DELETE of the old one: a record of the new owner is not deleted`,
    async ({ resource, entity }) => {
      const remove = (id: number): Promise<Reply> => send(site.url, `DELETE /api/${resource}/${id}/`, { as: 'old' })
      const outcomes = await race(site, entity, remove)
      logRaces(`DELETE of a ${resource} against a change of owner, ${name}`, outcomes)
      expect(outcomes.filter(({ title, isMoved }) => isMoved !== (title === 'moved'))).toEqual([])
      expect(outcomes.filter(({ status, isMoved }) => isMoved === (status === 204))).toEqual([])
      expect(unexpected(outcomes, [204, 403, 404])).toEqual([])
      expectBoth(outcomes)
    },
    120_000,
  )
})

async function race(
  site: Site,
  entity: EntityTarget<Owned>,
  write: (id: number) => Promise<Reply>,
): Promise<readonly Round[]> {
  const some = (delay: number): Promise<readonly Round[]> =>
    Promise.all(Array.from({ length: parallel }, () => raceOnce(site, entity, write, Math.random() * delay)))
  const outcomes: Round[] = []
  // The change of owner should run before, during and after the write: the delay is adapted so that each is first equally often.
  let delay = 60
  while (outcomes.length < rounds) {
    const last = await some(delay)
    outcomes.push(...last)
    // On a busy machine a write takes longer.
    delay *= last.filter(({ status }) => status < 300).length > parallel / 2 ? 0.6 : 1.8
  }
  return outcomes
}

async function raceOnce(
  { dataSource }: Site,
  entity: EntityTarget<Owned>,
  write: (id: number) => Promise<Reply>,
  delay: number,
): Promise<Round> {
  const repository = dataSource.getRepository(entity)
  const { identifiers } = await repository.insert({ title: 'new', owner: { id: 1 } })
  const id: number = identifiers[0]?.['id']
  const change = async (): Promise<boolean> => {
    await sleep(delay)
    const set = { title: 'moved', owner: { id: 2 } }
    const { affected } = await dataSource.createQueryBuilder().update(entity).set(set).where({ id }).execute()
    return affected === 1
  }
  const [reply, isMoved] = await Promise.all([write(id), change()])
  const after = await repository.findOneBy({ id })
  return { status: reply.status, title: after?.title, isMoved, reply }
}

function unexpected(outcomes: readonly Round[], statuses: readonly number[]): readonly string[] {
  return outcomes.filter(({ status }) => !statuses.includes(status)).map(({ reply }) => describeReply(reply))
}

/** Fails if one side always won, since the test would check nothing. */
function expectBoth(outcomes: readonly Round[]): void {
  const written = outcomes.filter(({ status }) => status < 300).length
  expect(written).toBeGreaterThan(0)
  expect(written).toBeLessThan(outcomes.length)
}

function logRaces(what: string, outcomes: readonly Round[]): void {
  const count = (...statuses: readonly number[]): number =>
    outcomes.filter(({ status }) => statuses.includes(status)).length
  logFigures(what, {
    rounds: outcomes.length,
    'before the change': count(200, 204),
    'after it': count(403),
    'around it': count(404),
  })
}
