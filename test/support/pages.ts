import { send } from '../client'

/** The body of a response to a list. */
export interface Page<Item = { readonly id: number }> {
  readonly meta: { readonly page: number; readonly next: string; readonly previous: string }
  readonly objects: readonly Item[]
}

/** Reads a page of a list. @throws {Error} for any status but 200 */
export async function readPage<Item = { readonly id: number }>(url: string, path: string): Promise<Page<Item>> {
  const reply = await send(url, `GET ${path}`)
  if (reply.status !== 200) throw new Error(`${path}: ${reply.text}`)
  return reply.json() as Page<Item>
}

/** Reads a page, and follows its links to the last or the first page. @throws {Error} after 1,000 pages */
export async function readPages<Item = { readonly id: number }>(
  url: string,
  path: string,
  link: 'next' | 'previous' = 'next',
): Promise<readonly Page<Item>[]> {
  const pages: Page<Item>[] = []
  for (let at = path; at !== ''; at = pages.at(-1)?.meta[link] ?? '') {
    if (pages.length === 1000) throw new Error(`${path}: the links do not end`)
    pages.push(await readPage(url, at))
  }
  return pages
}

/** The ids of the records on pages, in order. */
export function idsOf<Id>(pages: readonly Page<{ readonly id: Id }>[]): readonly Id[] {
  return pages.flatMap(({ objects }) => objects.map(({ id }) => id))
}
