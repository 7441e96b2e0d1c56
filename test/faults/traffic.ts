import { type Reply, send } from '../client'
import { describeReply, isUnavailable, Ledger } from './ledger'
import { sleep } from './time'

/** Time of a response, in milliseconds of `performance.now()`. */
interface Answered {
  readonly kind: 'write' | 'read'
  readonly at: number
  readonly status: number
}

/** Clients that write and read until they are stopped. */
export interface Traffic {
  readonly ledger: Ledger
  readonly answered: readonly Answered[]
  /** Unexpected responses: broken connections, and statuses other than success, the expected refusals and the documented 503. */
  readonly surprises: readonly string[]
  readonly stop: () => Promise<void>
}

/** Number of clients. */
export const clients = 20

/** Starts twenty clients that send one request after another: of six, three write, one of which is refused, and three read. */
export function startTraffic(url: string): Traffic {
  const ledger = new Ledger()
  const answered: Answered[] = []
  const surprises: string[] = []
  let isOver = false
  const sendNext = async (client: number, turn: number): Promise<void> => {
    const kind = turn % 2 === 0 ? 'write' : 'read'
    const reply = await request(url, ledger, client, turn)
    answered.push({ kind, at: performance.now(), status: reply.status })
    if (!isExpected(reply, turn)) surprises.push(`turn ${turn % 6}: ${describeReply(reply)}`)
    // Without a delay it would be repeated thousands of times.
    if (reply.status >= 500) await sleep(10)
  }
  const run = async (client: number): Promise<void> => {
    for (let turn = 0; !isOver; turn++) {
      await sendNext(client, turn).catch(async (error: Error) => {
        surprises.push(`turn ${turn % 6}: the connection broke: ${error.message}`)
        await sleep(10)
      })
    }
  }
  const running = Array.from({ length: clients }, (_, client) => run(client))
  const stop = async (): Promise<void> => {
    isOver = true
    await Promise.all(running)
  }
  return { ledger, answered, surprises, stop }
}

function request(url: string, ledger: Ledger, client: number, turn: number): Promise<Reply> {
  const tag = `${client}-${turn}`
  switch (turn % 6) {
    case 0:
      return ledger.post(url, 'note', tag)
    case 2:
      return ledger.post(url, 'memo', tag)
    case 4:
      return ledger.post(url, 'note', tag, { score: 'many' })
    case 5:
      return send(url, 'GET /api/season/1/')
    default:
      return send(url, 'GET /api/note/?ordering=-id&limit=3')
  }
}

function isExpected(reply: Reply, turn: number): boolean {
  if (isUnavailable(reply)) return true
  if (turn % 6 === 4) return reply.status === 400
  return reply.status === (turn % 2 === 0 ? 201 : 200)
}

/** Milliseconds from a moment to the first success of a kind. */
export function firstSuccess({ answered }: Traffic, kind: Answered['kind'], since: number): number {
  const first = answered.find((one) => one.kind === kind && one.at >= since && one.status < 300)
  return first === undefined ? Number.POSITIVE_INFINITY : Math.round(first.at - since)
}
