import type { Locator, Page } from 'playwright-core'
import { eventually } from './browser'

/** Elements of the explorer, and what tests wait for. @param current returns the page of the running test */
export function explorerPage(current: () => Page) {
  const link = (name: string): Locator => current().getByRole('link', { name, exact: true })
  const button = (name: string): Locator => current().getByRole('button', { name, exact: true })
  const heading = (name: string | RegExp): Locator => current().getByRole('heading', { level: 1, name, exact: true })
  const resource = (name: string): Locator =>
    current().getByRole('navigation', { name: 'Resources' }).getByRole('link', { name, exact: true })
  const request = (): Locator => current().getByRole('region', { name: 'Request' })

  /** The texts of a column, after the list has been loaded. */
  const column = async (name: string): Promise<readonly string[]> => {
    await current().locator('[aria-busy=false]').waitFor()
    const headers = await current().getByRole('columnheader').allInnerTexts()
    const index = headers.findIndex((text) => text.replace(/ [▲▼]$/, '') === name)
    return current()
      .locator(`tbody td:nth-child(${index + 1})`)
      .allInnerTexts()
  }

  /** Waits until a column begins with these texts, for lists that are still being loaded. */
  const expectColumn = (name: string, texts: readonly string[]): Promise<void> =>
    eventually(async () => expect((await column(name)).slice(0, texts.length)).toEqual(texts))

  /** Waits until a list has this number of records. */
  const expectLength = (length: number): Promise<void> =>
    eventually(async () => expect(await column('id')).toHaveLength(length))

  /** Waits until elements are not shown. Call it when the page shows the result of an action. */
  const expectNone = (locator: Locator): Promise<void> => eventually(async () => expect(await locator.count()).toBe(0))

  const expectInput = (locator: Locator, text: string): Promise<void> =>
    eventually(async () => expect(await locator.inputValue()).toBe(text))

  /** Copies a line of the request bar. @returns the text in the clipboard */
  const copied = async (name: 'URL' | 'curl line'): Promise<string> => {
    await button(`Copy the ${name}`).click()
    await request().getByText(`The ${name} is copied`, { exact: true }).waitFor()
    return current().evaluate('navigator.clipboard.readText()')
  }

  const signIn = async (username: string, password = username): Promise<void> => {
    await current().getByRole('banner').getByRole('button', { name: 'Sign in' }).click()
    const dialog = current().getByRole('dialog', { name: 'Sign in' })
    await dialog.getByLabel('User name').fill(username)
    await dialog.getByLabel('Password').fill(password)
    await dialog.getByRole('button', { name: 'Sign in' }).click()
  }

  return {
    ...{ link, button, heading, resource, request, expectColumn, expectLength },
    ...{ expectNone, expectInput, copied, signIn },
  }
}
