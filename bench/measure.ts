import { setTimeout } from 'node:timers/promises'
import autocannon from 'autocannon'
import type { Running } from './process'
import type { Work } from './work'

/** A server and the requests that it is measured with. */
export interface Series {
  /** Name of the implementation, or `ours, list` where `ours` is compared with other requests to itself. */
  readonly name: string
  readonly running: Running
  readonly work: Work
}

/** The results of one time window. */
export interface Window {
  /** Responses per second. */
  readonly rate: number
  /** Latencies in milliseconds. */
  readonly p50: number
  readonly p99: number
  /** CPU time of the server's process for one request, in milliseconds. */
  readonly cpu: number
}

const connections = 32
/** Number of different requests of one kind, which are divided among the connections. */
const variants = 16 * connections
/** Approximate length of a window, in seconds. */
const windowSeconds = Number(process.env['BENCH_WINDOW'] ?? 0.75)
/** Time before a window, in seconds. It is not measured: the caches and the memory of the server are filled again. */
const warmUpSeconds = 0.25

/**
 * Measures one window. It ends when all of its requests have a response: unfinished requests would take CPU time of the next
 * window.
 */
export async function measure({ running, work, name }: Series): Promise<Window> {
  const { origin, usage } = running
  const requests = await requestsOf(running, work)
  const warmUp = await load({ url: origin, duration: warmUpSeconds }, requests)
  await waitUntilIdle(running)
  const amount = Math.max(connections, Math.round((warmUp.requests.total / warmUpSeconds) * windowSeconds))
  const before = await usage()
  const start = performance.now()
  const result = await load({ url: origin, amount }, requests)
  const elapsed = performance.now() - start
  const after = await usage()
  const responses = result.requests.total
  const expected = work === 'refused' ? result['4xx'] : result['2xx']
  if (responses === 0 || expected < responses || result.errors > 0) {
    const { engine } = running.deployment
    throw new Error(
      `${name} on ${engine}, ${work}: ${responses - expected} of ${responses} responses have another status`,
    )
  }
  return {
    rate: (responses / elapsed) * 1000,
    p50: result.latency.p50,
    p99: result.latency.p99,
    cpu: (after.cpu - before.cpu) / responses,
  }
}

/** Sends requests on all connections. */
function load(options: autocannon.Options, requests: readonly autocannon.Request[]): Promise<autocannon.Result> {
  let connection = 0
  // Each connection builds all of its requests before it sends the first one. With the requests of all connections, the server
  // would be idle meanwhile.
  const setupClient = (client: autocannon.Client): void => {
    const share = connection++
    client.setRequests(requests.filter((_, index) => index % connections === share))
  }
  // autocannon checks whether it has finished when it takes a sample, by default only once in a second.
  return autocannon({ ...options, connections, setupClient, sampleInt: 5 })
}

/** CPU time of a server that counts as idle, in milliseconds within {@link idleInterval}. */
const maxIdleCpu = 5
const idleInterval = 20

/** Waits until the server has finished the requests of connections that are closed. */
async function waitUntilIdle({ usage }: Running): Promise<void> {
  let [before, after] = [0, (await usage()).cpu]
  while (after - before > maxIdleCpu) {
    await setTimeout(idleInterval)
    before = after
    after = (await usage()).cpu
  }
}

/** Number of updates that were sent to all servers. */
let updates = 0

async function requestsOf({ deployment, origin }: Running, work: Work): Promise<autocannon.Request[]> {
  const request = deployment.requests[work]
  if (request === undefined) throw new Error(`${deployment.name} has no request for ${work}`)
  // Each update has new values, because some implementations do not write values that are already stored.
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
