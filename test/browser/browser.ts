import axe from 'axe-core'
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { findProgram } from '../programs'

/** Chromium that asks nobody but the pages it is shown. */
const launchOptions = {
  executablePath: findProgram('chromium') ?? 'chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-background-networking', '--disable-sync'],
}

/** Milliseconds that something may take to be there: much runs beside it. */
export const patience = 20_000
jest.setTimeout(90_000)

/** A browser for the tests of a file: each has a page of its own, which must be without errors and stay at home. */
export class Visitor {
  readonly #contexts: BrowserContext[] = []
  /** What no page may have: errors, and requests to other origins. */
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
    context.setDefaultTimeout(patience)
    const page = await context.newPage()
    page.on('pageerror', (error) => this.#faults.push(error.message))
    page.on('request', (request) => {
      const target = request.url()
      if (!target.startsWith(`${origin}/`) && !target.startsWith('data:')) this.#faults.push(`asks ${target}`)
    })
    page.on('console', (message) => {
      // Of answers that are refusals, which the page shows in its own words.
      const isRefusal = message.text().startsWith('Failed to load resource: the server responded with a status of 4')
      if (message.type() === 'error' && !isRefusal) this.#faults.push(message.text())
    })
    await page.goto(url)
    return page
  }

  /** Closes the pages of a test. @returns what was wrong with them */
  async finish(): Promise<readonly string[]> {
    for (const context of this.#contexts.splice(0)) await context.close()
    return this.#faults.splice(0)
  }

  leave(): Promise<void> {
    return this.browser.close()
  }
}

/** What axe finds wrong with a page as it is: rules with the elements that break them. */
export async function barriers(page: Page): Promise<readonly string[]> {
  // Evaluated by the browser's tools, which its content security policy does not bind.
  await page.evaluate(axe.source)
  const { violations } = await page.evaluate<axe.AxeResults>('axe.run()')
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`))
}
