/** Delay before a failed read is repeated, in milliseconds: the first one, and the maximum. */
const firstRetryMs = 100
const maxRetryMs = 10_000

/**
 * How many times as long as the last read of the whole list took the next read waits after it, so that long lists do not load
 * the database.
 */
const pauseFactors = { none: 0, short: 1, long: 10 }

/** Pause between two reads. */
export type Pause = keyof typeof pauseFactors

/** Decides when a live list is read: as soon as possible, after a pause, or again after an error. */
export class ReadSchedule {
  readonly #enqueue: () => void
  readonly #pauseBefore: () => Pause
  /** Whether a read is queued or running, or will be repeated. */
  #isQueued = false
  #isEnded = false
  /** Whether the last read has failed. */
  #isFailing = false
  /** Time at which the whole list was read last, and durations of the last two such reads, in milliseconds. */
  #readEnd = 0
  #durations: readonly number[] = []
  #retryMs = firstRetryMs
  /** Duration of the last read that has failed, in milliseconds. */
  #failedMs = 0
  #retryTimer: NodeJS.Timeout | undefined
  #pauseTimer: NodeJS.Timeout | undefined

  /**
   * @param enqueue adds a read to the queue of all lists
   * @param pauseBefore returns the pause before the next read
   */
  constructor(enqueue: () => void, pauseBefore: () => Pause) {
    this.#enqueue = enqueue
    this.#pauseBefore = pauseBefore
  }

  get isEnded(): boolean {
    return this.#isEnded
  }

  get isFailing(): boolean {
    return this.#isFailing
  }

  /** Queues a read, unless one is queued already. */
  queueRead(): void {
    if (this.#isQueued || this.#isEnded) return
    // The pause can have become shorter, or unnecessary: a client has joined, for example.
    clearTimeout(this.#pauseTimer)
    const wait = this.#waitMs()
    if (wait > 0) {
      this.#pauseTimer = setTimeout(() => this.queueRead(), wait).unref()
      return
    }
    this.#isQueued = true
    this.#enqueue()
  }

  /**
   * Must be called when a read has succeeded.
   * @param start time at which a read of the whole list has begun; undefined for a read of some records
   */
  noteSuccess(start: number | undefined): void {
    if (start !== undefined) {
      this.#readEnd = performance.now()
      this.#durations = [...this.#durations, this.#readEnd - start].slice(-2)
    }
    this.#isFailing = false
    this.#isQueued = false
  }

  /**
   * Repeats a failed read later, so that the list is correct when the database is available again.
   * @param duration of the read, in milliseconds
   */
  repeat(duration: number): void {
    this.#failedMs = duration
    this.#repeatIn(this.#isFailing ? Math.min(maxRetryMs, this.#retryMs * 2) : firstRetryMs)
    this.#isFailing = true
  }

  /** Repeats a failed read soon, if it waits longer. Called when the database is available again. */
  repeatSoon(): void {
    if (this.#retryTimer !== undefined && this.#retryMs > firstRetryMs) this.#repeatIn(firstRetryMs)
  }

  end(): void {
    this.#isEnded = true
    clearTimeout(this.#retryTimer)
    clearTimeout(this.#pauseTimer)
  }

  #waitMs(): number {
    const factor = pauseFactors[this.#pauseBefore()]
    if (factor === 0) return 0
    // A read that has waited for a lock or a connection takes longer than others: the shorter one of the last two durations
    // is used.
    return this.#readEnd + factor * Math.min(...this.#durations) - performance.now()
  }

  #repeatIn(milliseconds: number): void {
    // A list can end while it is being read.
    if (this.#isEnded) return
    this.#retryMs = milliseconds
    clearTimeout(this.#retryTimer)
    // A read that takes long before it fails must not be repeated all the time.
    const wait = Math.max(milliseconds, this.#failedMs)
    this.#retryTimer = setTimeout(() => {
      this.#retryTimer = undefined
      this.#enqueue()
    }, wait).unref()
  }
}
