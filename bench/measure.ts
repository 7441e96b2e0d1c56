import autocannon from 'autocannon'
import type { Running } from './process'
import type { Work } from './work'

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
/** Different requests of one kind of work. */
const variants = 500
/** In seconds. */
export const windowLength = Number(process.env['BENCH_WINDOW'] ?? 1)

export async function measure({ contestant, origin, usage }: Running, work: Work, seconds: number): Promise<Window> {
  const request = contestant.requests[work]
  if (request === undefined) throw new Error(`${contestant.name} has no ${work}`)
  const requests = Array.from({ length: variants }, (_, pick) => ({ ...request(pick) }))
  const before = await usage()
  const start = performance.now()
  const result = await autocannon({ url: origin, connections, duration: seconds, requests })
  const elapsed = performance.now() - start
  const after = await usage()
  const answered = result.requests.total
  const expected = work === 'refused' ? result['4xx'] : result['2xx']
  if (answered === 0 || expected < answered || result.errors > 0) {
    throw new Error(
      `${contestant.name}, ${work}: ${answered - expected} of ${answered} answers are not as they should be`,
    )
  }
  return {
    rate: (answered / elapsed) * 1000,
    p50: result.latency.p50,
    p99: result.latency.p99,
    cpu: (after.cpu - before.cpu) / answered,
  }
}
