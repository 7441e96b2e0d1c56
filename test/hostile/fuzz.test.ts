import { createHash } from 'node:crypto'
import { Agent } from 'node:http'
import fc from 'fast-check'
import { UserAccount, verifyPassword } from 'typeorm-resources'
import { type Reply, send } from '../client'
import { LanguageWord, User } from '../world/entities'
import { canaries } from '../world/seed'
import { openWorld, seedWorld, type World } from '../world/world'
import { caseCount, heapInUse, timeFor } from './cases'
import type { Generated } from './generate'
import { differences, readStored, restoreStored, type Stored } from './stored'
import { listRequests, pathRequests, resources, wordId, writeRequests } from './world-requests'

/**
 * Whatever is asked, in whatever form: nothing breaks, nothing hidden is shown, and what is refused changes nothing. The
 * requests are the same in every run; `cases.ts` says how many there are. A failure prints the smallest request that
 * fast-check finds.
 */

/** The seed has argon2 hashes, of which each check takes a core for 40 ms: what one has said once is remembered. */
const checks = new Map<string, Promise<boolean>>()
const hashOf = (plain: string): string => `$argon2-${createHash('sha256').update(plain).digest('hex')}`
function remembered(plain: string, stored: string): Promise<boolean> | boolean {
  if (!stored.startsWith('$argon2id')) return hashOf(plain) === stored
  const check = checks.get(`${stored} ${plain}`) ?? verifyPassword(plain, stored)
  if (checks.size < 1000) checks.set(`${stored} ${plain}`, check)
  return check
}
UserAccount({ hash: hashOf, verify: remembered })(User)

const total = caseCount(5000, 100_000)
/** Requests in flight, beside the one that writes. */
const readers = 4
/** What the heap may have more at the end than halfway: kept of each request, 80 bytes are as much in a night. */
const heapGrowth = 4 * 2 ** 20

let world: World
let seeded: Stored
const agent = new Agent({ keepAlive: true, maxSockets: 16 })
beforeAll(async () => {
  world = await openWorld({
    seed: async (dataSource) => {
      await seedWorld(dataSource)
      await dataSource.getRepository(LanguageWord).insert({ id: wordId, text: 'word', language: { code: 'eng' } })
    },
  })
  seeded = await readStored(world)
})
afterAll(async () => {
  agent.destroy()
  await world.close()
})

const ask = ({ line, as, headers, body }: Generated): Promise<Reply> =>
  send(world.url, line, { as, headers, body, agent })

/** The canonical path and the one without its last slash (specification: Paths). A path has neither `#` nor `\`. */
const ours = new RegExp(`^/api/(${resources.join('|')})(/[^/?#\\\\]+)?/?(\\?|$)`)
const isOurs = (target: string): boolean => ours.test(target)
/** What is read besides records: it has forms of its own, and other tests. */
const page = /^\/api(\/|\/docs\/?|\/openapi\.json\/?)?(\?|$)/
const isPage = (method: string, target: string): boolean => ['GET', 'HEAD'].includes(method) && page.test(target)

/** The answers of each status, to see that the requests come as far as they should. */
const statuses = new Map<string, number>()
function count({ line }: Generated, { status }: Reply): void {
  const kind = `${line.startsWith('GET ') ? 'GET' : 'other'} ${status}`
  statuses.set(kind, (statuses.get(kind) ?? 0) + 1)
}

/** What is wrong with an answer, whatever was asked. */
function faultsOf({ line }: Generated, reply: Reply): readonly string[] {
  const [method = '', target = ''] = line.split(/ (.*)/s)
  const { status, headers, text } = reply
  const answer = text + JSON.stringify(headers)
  const isBusy = status === 503 && headers['retry-after'] !== undefined
  const isKnown = isOurs(target) || (status === 404 && ['Not Found', ''].includes(text))
  return [
    ...(status >= 500 && !isBusy ? [`a fault: ${status} ${text}`] : []),
    ...canaries.filter((canary) => answer.includes(canary)).map((canary) => `shows ${canary}`),
    ...(isKnown || isPage(method, target) ? [] : [`not ours: ${status} ${text}`]),
    ...(isOurs(target) && method !== 'HEAD' ? formFaults(reply) : []),
  ]
}

/** By the specification: Error documents, Refusal by the access rule. */
function formFaults({ status, headers, text, json }: Reply): readonly string[] {
  if (status === 204 || status === 304) return text === '' ? [] : [`a body: ${text}`]
  if (status === 401) {
    const isSpecified = text === 'Authentication failed' && headers['content-type'] === 'text/html; charset=utf-8'
    return isSpecified && headers['www-authenticate'] === 'Basic realm="Login Required"' ? [] : [`another 401: ${text}`]
  }
  const type = status < 300 ? 'application/json; charset=utf-8' : 'application/problem+json; charset=utf-8'
  if (headers['content-type'] !== type) return [`${status} is ${headers['content-type']}: ${text}`]
  const document = json()
  return status < 300 || isProblem(document, status) ? [] : [`no problem document: ${text}`]
}

/** RFC 9457, with `errors` (specification: Error documents). */
function isProblem(document: unknown, status: number): boolean {
  const { type, title, detail, errors = [], ...rest } = document as Record<string, unknown>
  const isText = [type, title, detail].every((member) => typeof member === 'string' && member !== '')
  const hasErrors =
    Array.isArray(errors) && errors.every((error) => Object.keys(error).toSorted().join() === 'field,message')
  return isText && hasErrors && JSON.stringify(rest) === JSON.stringify({ status })
}

function raise(faults: readonly string[]): void {
  if (faults.length > 0) throw new Error(faults.join('\n'))
}

async function checkReading(request: Generated): Promise<void> {
  const reply = await ask(request)
  count(request, reply)
  // What they are recorded for is not asked here, and they would fill the heap.
  world.statements()
  raise(faultsOf(request, reply))
}

/** One at a time, and taken back: so each meets the seed, and what is printed can be sent again. */
async function checkWriting(request: Generated): Promise<void> {
  const reply = await ask(request)
  count(request, reply)
  const stored = await readStored(world)
  const changed = differences(seeded, stored)
  await restoreStored(world, seeded, stored)
  if (changed.length > 0) expect(differences(seeded, await readStored(world))).toEqual([])
  world.statements()
  raise([...faultsOf(request, reply), ...changeFaults(request, reply, changed)])
}

const tables: Readonly<Record<string, string>> = { word: 'language_word' }

/** A refusal changes nothing, and what is accepted no more than the record that the path or the answer names. */
function changeFaults({ line }: Generated, reply: Reply, changed: readonly string[]): readonly string[] {
  const [, method, name = '', id] = /^(\S+) \/api\/([^/]+)\/([^/]*)/.exec(line) ?? []
  const table = tables[name] ?? name
  const allowed: Readonly<Record<string, () => readonly string[]>> = {
    POST: () => [`+ ${table} ${(reply.json() as { id: unknown }).id}`],
    PUT: () => [`~ ${table} ${id}`],
    PATCH: () => [`~ ${table} ${id}`],
    DELETE: () => [`- ${table} ${id}`],
  }
  const may = reply.status < 300 ? (allowed[method ?? '']?.() ?? []) : []
  const others = changed.filter((one) => !may.includes(one))
  // PUT may change nothing; a record that is made or deleted is so in truth.
  const missing = method === 'PUT' || method === 'PATCH' ? [] : may.filter((one) => !changed.includes(one))
  return [
    ...others.map((one) => `${reply.status}, and ${one}`),
    ...missing.map((one) => `${reply.status} without ${one}`),
  ]
}

interface Lane {
  readonly requests: fc.Arbitrary<Generated>
  readonly check: (request: Generated) => Promise<void>
  readonly count: number
}

/** All at the same time: lists, items and odd paths, and one that writes. */
function lanesOf(cases: number): readonly Lane[] {
  const writing: Lane = { requests: writeRequests, check: checkWriting, count: Math.ceil(cases * 0.3) }
  const reading = Array.from({ length: readers }, (_, index): Lane => {
    const requests = index === 0 ? pathRequests : listRequests
    return { requests, check: checkReading, count: Math.ceil((cases * 0.7) / readers) }
  })
  return [writing, ...reading]
}

async function run(half: number): Promise<void> {
  const lanes = lanesOf(total / 2).map(({ requests, check, count }, index) =>
    fc.assert(fc.asyncProperty(requests, check), {
      seed: half * 100 + index,
      numRuns: count,
      includeErrorInReport: true,
    }),
  )
  // Every lane ends, or what is left of one would go on in the next test.
  const failed = (await Promise.allSettled(lanes)).flatMap((lane) => (lane.status === 'rejected' ? [lane.reason] : []))
  // Which request has brought an error to the event cannot be said of it, while others are in flight.
  const events = world.faults.map((fault) => `an error event: ${fault}`)
  raise([...failed.map((reason) => String(reason instanceof Error ? reason.message : reason)), ...events])
}

let halfway = 0

test(
  'the first half: nothing breaks, nothing hidden is shown, what is refused changes nothing',
  async () => {
    await run(1)
    halfway = heapInUse()
  },
  timeFor(total),
)

test(
  'the second half, on a heap that stays as it is',
  async () => {
    await run(2)
    expect(heapInUse() - halfway).toBeLessThan(heapGrowth)
  },
  timeFor(total),
)

test('the requests come as far as they should', () => {
  const reached = ['GET 200', 'GET 400', 'GET 401', 'GET 404']
  const written = ['200', '201', '204', '400', '401', '403', '404', '405', '409', '413', '415'].map(
    (one) => `other ${one}`,
  )
  const missing = [...reached, ...written].filter((kind) => !statuses.has(kind))
  expect({ missing: total < 5000 ? [] : missing }).toEqual({ missing: [] })
})

test('the seed is as it was', async () => {
  expect(differences(seeded, await readStored(world))).toEqual([])
})
