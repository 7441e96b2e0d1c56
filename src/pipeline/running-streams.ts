import { unavailable } from '../errors'

/** Lists that a service streams now. */
export class RunningStreams {
  readonly #max: number
  #count = 0

  /** @param max maximum number of lists that are streamed at the same time */
  constructor(max: number) {
    this.#max = max
  }

  /** Counts a list as streamed while `work` runs. @throws {ApiError} `unavailable` if there are too many */
  async run(work: () => Promise<void>): Promise<void> {
    if (this.#count >= this.#max)
      throw unavailable(`${this.#count} lists are being streamed already (limits.streams); try again`)
    this.#count += 1
    try {
      await work()
    } finally {
      this.#count -= 1
    }
  }
}
