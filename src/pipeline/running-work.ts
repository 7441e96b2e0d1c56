import { unavailable } from '../errors'

/** Counts the running work of one kind, such as streamed lists, and limits its number. */
export class RunningWork {
  readonly #max: number
  readonly #describe: (count: number) => string
  #count = 0

  /**
   * @param max maximum number at the same time
   * @param describe start of the message for further work: "4 lists are being streamed already (limits.streams)"
   */
  constructor(max: number, describe: (count: number) => string) {
    this.#max = max
    this.#describe = describe
  }

  /** Counts `work` while it runs. @throws {ApiError} `unavailable` if there is too much */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#count >= this.#max) throw unavailable(`${this.#describe(this.#count)}; try again`)
    this.#count += 1
    try {
      return await work()
    } finally {
      this.#count -= 1
    }
  }
}
