import { type Reply, send } from '../client'

/** Differences between the responses and the stored records; all are empty if no write was lost or repeated. */
export interface Audit {
  /** Tags of records that were acknowledged, but are not stored. */
  readonly lost: readonly string[]
  /** Tags of records that were refused with 4xx, but are stored. */
  readonly refusedButStored: readonly string[]
  /** Tags of stored records that were never requested. */
  readonly unattempted: readonly string[]
}

/** The audit of a database that agrees with all responses. */
export const noDifferences: Audit = { lost: [], refusedButStored: [], unattempted: [] }

/** Record of all requested writes, by tag, and of their responses. */
export class Ledger {
  readonly attempted = new Set<string>()
  readonly acknowledged = new Set<string>()
  /** Requests with a 4xx response. */
  readonly refused = new Set<string>()
  /** Requests with a 5xx response. After a broken connection it is unknown whether their records are stored. */
  readonly failed = new Set<string>()

  /** Posts a record with a unique tag. */
  async post(url: string, resource: string, tag: string, values: object = {}): Promise<Reply> {
    this.attempted.add(tag)
    const reply = await send(url, `POST /api/${resource}/`, { body: { tag, ...values } })
    this.note(tag, reply.status)
    return reply
  }

  note(tag: string, status: number): void {
    this.attempted.add(tag)
    if (status < 300) this.acknowledged.add(tag)
    else if (status < 500) this.refused.add(tag)
    else this.failed.add(tag)
  }

  audit(stored: readonly string[]): Audit {
    const there = new Set(stored)
    return {
      lost: [...this.acknowledged].filter((tag) => !there.has(tag)),
      refusedButStored: stored.filter((tag) => this.refused.has(tag)),
      unattempted: stored.filter((tag) => !this.attempted.has(tag)),
    }
  }

  /** Tags of records with a 5xx response that are stored. */
  failedButStored(stored: readonly string[]): readonly string[] {
    return stored.filter((tag) => this.failed.has(tag))
  }
}

/** Whether a response is the documented 503, with the header `Retry-After`. */
export function isUnavailable({ status, headers, text }: Reply): boolean {
  const isProblem = headers['content-type']?.startsWith('application/problem+json') ?? false
  const hasRetryAfter = /^[1-9]\d*$/.test(headers['retry-after'] ?? '')
  return status === 503 && isProblem && hasRetryAfter && text.includes('"urn:typeorm-resources:unavailable"')
}

/** A response as one line, for messages of assertions. */
export function describeReply({ status, headers, text }: Reply): string {
  return `${status} Retry-After ${headers['retry-after'] ?? 'missing'} ${text.slice(0, 300)}`
}
