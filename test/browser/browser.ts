import { setTimeout } from 'node:timers/promises'
import axe from 'axe-core'
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { findProgram } from '../programs'

/** Options of Chromium, with which it sends requests to the tested pages only. */
const launchOptions = {
  executablePath: findProgram('chromium') ?? 'chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-background-networking', '--disable-sync'],
}

/** Maximum time to wait for an element, in milliseconds. It is long because other tests run at the same time. */
export const maxWaitMs = 20_000
/**
 * Opens pages of a browser for the tests of a file. Each test gets its own page, which must neither log errors nor send requests to other
 * origins.
 */
export class Visitor {
  readonly #contexts: BrowserContext[] = []
  /** Errors of the page, and its requests to other origins. */
  readonly #faults: string[] = []

  private constructor(readonly browser: Browser) {}

  static async arrive(): Promise<Visitor> {
    return new Visitor(await chromium.launch(launchOptions))
  }

  /** Opens a page. @param url with its fragment */
  async open(url: string, options: BrowserContextOptions = {}): Promise<Page> {
    const { origin } = new URL(url)
    const context = await this.browser.newContext({ permissions: ['clipboard-read', 'clipboard-write'], ...options })
    this.#contexts.push(context)
    context.setDefaultTimeout(maxWaitMs)
    const page = await context.newPage()
    page.on('pageerror', (error) => this.#faults.push(error.message))
    page.on('request', (request) => {
      const target = request.url()
      if (!target.startsWith(`${origin}/`) && !target.startsWith('data:')) this.#faults.push(`request to ${target}`)
    })
    page.on('console', (message) => {
      // The browser logs refused requests as errors; the page handles them itself.
      const isRefusal = message.text().startsWith('Failed to load resource: the server responded with a status of 4')
      if (message.type() === 'error' && !isRefusal) this.#faults.push(message.text())
    })
    await page.goto(url)
    return page
  }

  /** Closes the pages of a test. @returns the problems that were found */
  async finish(): Promise<readonly string[]> {
    for (const context of this.#contexts.splice(0)) await context.close()
    return this.#faults.splice(0)
  }

  leave(): Promise<void> {
    return this.browser.close()
  }
}

/** Runs an assertion again until it holds, for what a page shows only some time after an action. */
export async function eventually(check: () => Promise<void>): Promise<void> {
  for (const deadline = Date.now() + maxWaitMs; ; ) {
    try {
      return await check()
    } catch (error) {
      if (Date.now() > deadline) throw error
    }
    await setTimeout(50)
  }
}

/** Accessibility problems that axe finds on a page: rules with the elements that violate them. */
export async function barriers(page: Page): Promise<readonly string[]> {
  // Evaluated through the DevTools protocol, which the content security policy of the page does not restrict.
  if (await page.evaluate(`typeof axe === 'undefined'`)) await page.evaluate(axe.source)
  // All rules run, but only violations are described: describing every element that a rule accepts takes five times as long.
  const { violations } = await page.evaluate<axe.AxeResults>(`axe.run({ resultTypes: ['violations'] })`)
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`))
}
