import type { Session } from '../query/connection'
import { buildDescription } from './description'
import { docsPages } from './docs'
import { explorerPages, rootPage } from './explorer'
import { healthPage } from './health'
import type { MountSettings } from './mount-options'
import type { Page, Pages } from './page'

/** What can be read besides resources, as the options have it. */
export function buildPages({ health, openapi, explorer, info }: MountSettings, session: Session): Pages {
  const pages = new Map<string, Page>()
  if (health) pages.set('/health', healthPage(session))
  if (openapi === false) return pages
  const access = { rule: openapi, session }
  pages.set('/openapi.json', buildDescription({ ...access, info })).set('', rootPage(access, explorer))
  return explorer ? new Map([...pages, ...docsPages(), ...explorerPages(access)]) : pages
}

/** Names of pages that a resource could have too, and what is to be said where one has. */
export function takenNames({
  base,
  health,
  openapi,
  explorer,
}: MountSettings): readonly { readonly name: string; readonly mistake: string }[] {
  const taken = (name: string, option: string): { name: string; mistake: string } => ({
    name,
    mistake: `"${name}" is the path ${base}/${name}/, and a resource has that name: give it another "name", or mount with ${option}`,
  })
  return [
    ...(health ? [taken('health', '"health" left out')] : []),
    ...(explorer && openapi !== false ? [taken('docs', '{ explorer: false }')] : []),
  ]
}
