import { setTimeout } from 'node:timers/promises'
import autocannon from 'autocannon'
import type { Running } from './process'
import type { Work } from './work'

/** Somebody at some work, under the name that it has in the table. */
export interface Series {
  readonly name: string
  readonly running: Running
  readonly work: Work
}

/** One window of load. */
export interface Window {
  /** Requests answered in a second. */
  readonly rate: number
  /** Latencies in milliseconds. */
  readonly p50: number
  readonly p99: number
  /** Time of the server's process for one request, in milliseconds. */
  readonly cpu: number
}

const connections = 32
/** Different requests of one kind of work, of which each connection has its share. */
const variants = 16 * connections
/** About how long a window is, in seconds. */
const windowLength = Number(process.env['BENCH_WINDOW'] ?? 0.75)
/** Who has waited for the others has memory and caches to get back, which is not counted. In seconds. */
const lead = 0.25

/** A window ends when all of its requests are answered: what is left behind would be done in the time of whoever comes next. */
export async function measure({ running, work, name }: Series): Promise<Window> {
  const { origin, usage } = running
  const requests = await requestsOf(running, work)
  const led = await load({ url: origin, duration: lead }, requests)
  await becomeIdle(running)
  const amount = Math.max(connections, Math.round((led.requests.total / lead) * windowLength))
  const before = await usage()
  const start = performance.now()
  const result = await load({ url: origin, amount }, requests)
  const elapsed = performance.now() - start
  const after = await usage()
  const answered = result.requests.total
  const expected = work === 'refused' ? result['4xx'] : result['2xx']
  if (answered === 0 || expected < answered || result.errors > 0) {
    throw new Error(`${name}, ${work}: ${answered - expected} of ${answered} answers are not as they should be`)
  }
  return {
    rate: (answered / elapsed) * 1000,
    p50: result.latency.p50,
    p99: result.latency.p99,
    cpu: (after.cpu - before.cpu) / answered,
  }
}

/** A connection builds all of its requests before it sends one, as long as which the server has nothing to do. */
function load(options: autocannon.Options, requests: readonly autocannon.Request[]): Promise<autocannon.Result> {
  let connection = 0
  const setupClient = (client: autocannon.Client): void => {
    const share = connection++
    client.setRequests(requests.filter((_, index) => index % connections === share))
  }
  // It looks whether it is done when it takes a sample: every second by default.
  return autocannon({ ...options, connections, setupClient, sampleInt: 5 })
}

/** Waits until the server has done what it was asked by connections that are gone. */
async function becomeIdle({ usage }: Running): Promise<void> {
  let [before, after] = [0, (await usage()).cpu]
  while (after - before > mostIdle) {
    await setTimeout(20)
    before = after
    after = (await usage()).cpu
  }
}

/** In milliseconds of 20. */
const mostIdle = 5

/** All that were sent, to whomever. */
let updates = 0

async function requestsOf({ contestant, origin }: Running, work: Work): Promise<autocannon.Request[]> {
  const request = contestant.requests[work]
  if (request === undefined) throw new Error(`${contestant.name} has no ${work}`)
  // A value that is there already need not be written, and some do not.
  if (work === 'update') {
    return Array.from({ length: connections }, () => ({
      setupRequest: (sent: autocannon.Request) => ({ ...sent, ...request(updates++) }),
    }))
  }
  if (work !== 'deepKeyset') return Array.from({ length: variants }, (_, pick) => ({ ...request(pick) }))
  const links: autocannon.Request[] = []
  for (let pick = 0; pick < connections; pick++) {
    const page: unknown = await (await fetch(`${origin}${request(pick).path}`)).json()
    links.push({ method: 'GET', path: Object(page).meta.next })
  }
  return links
}
