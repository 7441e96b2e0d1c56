import { createHash } from 'node:crypto'
import { Agent } from 'node:http'
import fc from 'fast-check'
import { UserAccount, verifyPassword } from 'typeorm-resources'
import { type Reply, send } from '../client'
import { heapInUse } from '../support/heap'
import { LanguageWord, User } from '../world/entities'
import { canaries } from '../world/seed'
import { openWorld, seedWorld, type World } from '../world/world'
import { caseCount, timeFor } from './cases'
import type { Generated } from './generate'
import { differences, readStored, restoreStored, type Stored } from './stored'
import { listRequests, pathRequests, resources, wordId, writeRequests } from './world-requests'

/**
 * Generated requests of every form: none causes a 5xx, reveals hidden values, or changes anything if it is refused.
 * The requests are the same in every run; `cases.ts` defines their number. If a test fails, it prints the smallest failing request that
 * fast-check finds.
 */

/** Results of password checks, by password and hash. The data set has argon2 hashes, and each check takes a CPU for 40 ms. */
const checks = new Map<string, Promise<boolean>>()
const hashOf = (plain: string): string => `$argon2-${createHash('sha256').update(plain).digest('hex')}`
function verifyCached(plain: string, stored: string): Promise<boolean> | boolean {
  if (!stored.startsWith('$argon2id')) return hashOf(plain) === stored
  const check = checks.get(`${stored} ${plain}`) ?? verifyPassword(plain, stored)
  if (checks.size < 1000) checks.set(`${stored} ${plain}`, check)
  return check
}
UserAccount({ hash: hashOf, verify: verifyCached })(User)

const total = caseCount(5000, 100_000)
/** Number of clients that read in parallel, besides the one that writes. */
const readers = 4
/** How many bytes the heap may grow in the second half: 80 bytes that were kept for each request would be as much in a nightly run. */
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

const sendGenerated = ({ line, as, headers, body }: Generated): Promise<Reply> =>
  send(world.url, line, { as, headers, body, agent })

/** Matches the canonical path and the one without its final slash (specification: Paths). A path contains neither `#` nor `\`. */
const servicePath = new RegExp(`^/api/(${resources.join('|')})(/[^/?#\\\\]+)?/?(\\?|$)`)
const isServicePath = (target: string): boolean => servicePath.test(target)
/** Matches the pages besides resources, which have other formats and their own tests. */
const page = /^\/api(\/|\/docs\/?|\/openapi\.json\/?)?(\?|$)/
const isPage = (method: string, target: string): boolean => ['GET', 'HEAD'].includes(method) && page.test(target)

/** Number of responses by method and status, with which a test checks that the requests reach all stages of the service. */
const statuses = new Map<string, number>()
function count({ line }: Generated, { status }: Reply): void {
  const kind = `${line.startsWith('GET ') ? 'GET' : 'other'} ${status}`
  statuses.set(kind, (statuses.get(kind) ?? 0) + 1)
}

/** Violations of the rules that hold for all responses. */
function faultsOf({ line }: Generated, reply: Reply): readonly string[] {
  const [method = '', target = ''] = line.split(/ (.*)/s)
  const { status, headers, text } = reply
  const answer = text + JSON.stringify(headers)
  const isBusy = status === 503 && headers['retry-after'] !== undefined
  const isKnown = isServicePath(target) || (status === 404 && ['Not Found', ''].includes(text))
  return [
    ...(status >= 500 && !isBusy ? [`a fault: ${status} ${text}`] : []),
    ...canaries.filter((canary) => answer.includes(canary)).map((canary) => `shows ${canary}`),
    ...(isKnown || isPage(method, target) ? [] : [`not Koa's 404: ${status} ${text}`]),
    ...(isServicePath(target) && method !== 'HEAD' ? formFaults(reply) : []),
  ]
}

/** Violations of the format of refusals (specification: Error documents, Refusal by the access rule). */
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

/** Whether a document is a problem document of RFC 9457, with `errors` (specification: Error documents). */
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
  const reply = await sendGenerated(request)
  count(request, reply)
  // The recorded statements are not used, and would fill the heap.
  world.statements()
  raise(faultsOf(request, reply))
}

/** Sends one write at a time and undoes its changes, so that each write starts from the same data set and can be repeated. */
async function checkWriting(request: Generated): Promise<void> {
  const reply = await sendGenerated(request)
  count(request, reply)
  const stored = await readStored(world)
  const changed = differences(seeded, stored)
  await restoreStored(world, seeded, stored)
  if (changed.length > 0) expect(differences(seeded, await readStored(world))).toEqual([])
  world.statements()
  raise([...faultsOf(request, reply), ...changeFaults(request, reply, changed)])
}

const tables: Readonly<Record<string, string>> = { word: 'language_word' }

/** Changes that are not allowed: any change by a refused request, and changes of other records than that of the path or the response. */
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
  // PUT may change nothing; POST and DELETE must create or delete a record.
  const missing = method === 'PUT' || method === 'PATCH' ? [] : may.filter((one) => !changed.includes(one))
  return [
    ...others.map((one) => `${reply.status}, and ${one}`),
    ...missing.map((one) => `${reply.status} without ${one}`),
  ]
}

interface Client {
  readonly requests: fc.Arbitrary<Generated>
  readonly check: (request: Generated) => Promise<void>
  readonly count: number
}

/** Clients that run at the same time: one that writes, and others that read lists, items and unusual paths. */
function clientsOf(cases: number): readonly Client[] {
  const writing: Client = { requests: writeRequests, check: checkWriting, count: Math.ceil(cases * 0.3) }
  const reading = Array.from({ length: readers }, (_, index): Client => {
    const requests = index === 0 ? pathRequests : listRequests
    return { requests, check: checkReading, count: Math.ceil((cases * 0.7) / readers) }
  })
  return [writing, ...reading]
}

async function run(half: number): Promise<void> {
  const clients = clientsOf(total / 2).map(({ requests, check, count }, index) =>
    fc.assert(fc.asyncProperty(requests, check), {
      seed: half * 100 + index,
      numRuns: count,
      includeErrorInReport: true,
    }),
  )
  // Waits for all clients, so that none of their requests runs during the next test.
  const failed = (await Promise.allSettled(clients)).flatMap((client) =>
    client.status === 'rejected' ? [client.reason] : [],
  )
  // An error event does not say which of the parallel requests caused it.
  const events = world.faults.map((fault) => `an error event: ${fault}`)
  raise([...failed.map((reason) => String(reason instanceof Error ? reason.message : reason)), ...events])
}

let halfway = 0

test(
  'first half: no request causes a 5xx, reveals hidden values, or changes anything if it is refused',
  async () => {
    await run(1)
    halfway = heapInUse()
  },
  timeFor(total),
)

test(
  'second half: the same, and the heap does not grow',
  async () => {
    await run(2)
    expect(heapInUse() - halfway).toBeLessThan(heapGrowth)
  },
  timeFor(total),
)

test('the generated requests reach every kind of response', () => {
  const reached = ['GET 200', 'GET 400', 'GET 401', 'GET 404']
  const written = ['200', '201', '204', '400', '401', '403', '404', '405', '409', '413', '415'].map(
    (one) => `other ${one}`,
  )
  const missing = [...reached, ...written].filter((kind) => !statuses.has(kind))
  expect({ missing: total < 5000 ? [] : missing }).toEqual({ missing: [] })
})

test('the data set is unchanged after all tests', async () => {
  expect(differences(seeded, await readStored(world))).toEqual([])
})
