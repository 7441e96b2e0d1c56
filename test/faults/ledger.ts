import { type Reply, send } from '../client'

/** What does not fit between what was said and what is stored; in a database in order each is empty. */
export interface Audit {
  /** Acknowledged, and not stored. */
  readonly lost: readonly string[]
  /** Refused as the client's fault, and stored. */
  readonly refusedButStored: readonly string[]
  /** Never asked for, and stored. */
  readonly unattempted: readonly string[]
}

export const inOrder: Audit = { lost: [], refusedButStored: [], unattempted: [] }

/** The books of what clients asked for, by tag, and of what they were told. */
export class Ledger {
  readonly attempted = new Set<string>()
  readonly acknowledged = new Set<string>()
  /** 4xx */
  readonly refused = new Set<string>()
  /** 5xx; of some that went wrong with their connection nobody knows whether they are stored. */
  readonly failed = new Set<string>()

  /** Posts a record with a tag of its own. */
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

  /** Answered by 5xx, and stored. */
  failedButStored(stored: readonly string[]): readonly string[] {
    return stored.filter((tag) => this.failed.has(tag))
  }
}

/** Whether an answer is the 503 of the contract, which says when to come again. */
export function isUnavailable({ status, headers, text }: Reply): boolean {
  const isProblem = headers['content-type']?.startsWith('application/problem+json') ?? false
  const mayComeAgain = /^[1-9]\d*$/.test(headers['retry-after'] ?? '')
  return status === 503 && isProblem && mayComeAgain && text.includes('"urn:typeorm-resources:unavailable"')
}

/** An answer in one line, for what should have been another. */
export function inWords({ status, headers, text }: Reply): string {
  return `${status} Retry-After ${headers['retry-after'] ?? 'missing'} ${text.slice(0, 300)}`
}
