/** Makes the first request that passes it wait until `open` is called. */
export class Gate {
  #isFirst = false
  #open: () => void = () => undefined
  #opened = Promise.resolve()
  #reached: () => void = () => undefined

  /** Makes the next request wait. @returns a promise that resolves when a request waits */
  close(): Promise<void> {
    this.#isFirst = true
    this.#opened = new Promise((resolve) => {
      this.#open = resolve
    })
    return new Promise((resolve) => {
      this.#reached = resolve
    })
  }
  open(): void {
    this.#open()
  }
  async pass(): Promise<void> {
    if (!this.#isFirst) return
    this.#isFirst = false
    this.#reached()
    await this.#opened
  }
}
