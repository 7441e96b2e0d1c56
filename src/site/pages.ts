import type { DbSession } from '../connection/db-session'
import { ConfigError } from '../errors'
import type { Registry } from '../schema/resource-view'
import { batchPage } from './batch'
import { openApiPage } from './description'
import { docsPages } from './docs'
import { explorerPages, rootPage } from './explorer'
import { healthPage } from './health'
import { mcpPages } from './mcp/page'
import type { MountSettings } from './mount-options'
import type { PageHandler, Pages, PagesByMethod } from './page'
import { passwordPage } from './password'
import type { Routers } from './routers'
import { sessionPage } from './session'

/**
 * Builds the pages that the options enable. No resource can have the name `-`.
 * @param session session outside of requests, for the health check
 */
export function buildPages(settings: MountSettings, session: DbSession, routers: Routers): PagesByMethod {
  const { health, passwordChange, batch, mcp } = settings
  const agents = mcp ? mcpPages(settings, routers) : undefined
  return {
    GET: new Map([
      ['/-/session', sessionPage],
      ...(health ? [['/health', healthPage(session)] as const] : []),
      ...documentPages(settings, routers),
      ...(agents?.GET ?? []),
    ]),
    POST: new Map([
      ...(passwordChange ? [['/-/password', passwordPage] as const] : []),
      ...(batch > 0 ? [['/-/batch', batchPage(settings, routers)] as const] : []),
      ...(agents?.POST ?? []),
    ]),
    DELETE: agents?.DELETE ?? new Map(),
  }
}

function documentPages({ openapi, explorer, info, batch }: MountSettings, routers: Routers): Pages {
  const pages = new Map<string, PageHandler>()
  if (openapi === false) return pages
  pages.set('/openapi.json', openApiPage({ rule: openapi, info, batch, routers })).set('', rootPage(openapi, explorer))
  return explorer ? new Map([...pages, ...docsPages(), ...explorerPages()]) : pages
}

/** @throws {ConfigError} if a resource has the name of a page */
export function requireNoPageNames(
  { base, health, openapi, explorer }: MountSettings,
  resources: Registry['resources'],
): void {
  const taken: readonly (readonly [name: string, option: string])[] = [
    ...(health ? [['health', '{ health: false }'] as const] : []),
    ...(explorer && openapi !== false ? [['docs', '{ explorer: false }'] as const] : []),
  ]
  const mistakes = taken
    .filter(([name]) => resources.has(name))
    .map(
      ([name, option]) =>
        `"${name}" is the name of a resource and of the page ${base}/${name}/: ` +
        `give the resource another "name", or mount with ${option}`,
    )
  if (mistakes.length > 0) throw new ConfigError(mistakes)
}
