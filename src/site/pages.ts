import type { DbSession } from '../connection/db-session'
import { ConfigError } from '../errors'
import type { Registry } from '../schema/resource-view'
import { openApiPage } from './description'
import { docsPages } from './docs'
import { explorerPages, rootPage } from './explorer'
import { healthPage } from './health'
import type { MountSettings } from './mount-options'
import type { PageHandler, Pages, PagesByMethod } from './page'
import { passwordPage } from './password'
import { sessionPage } from './session'

/** Builds the pages that the options enable. No resource can have the name `-`. */
export function buildPages(settings: MountSettings, session: DbSession): PagesByMethod {
  const { health, passwordChange } = settings
  return {
    GET: new Map([
      ['/-/session', sessionPage(session)],
      ...(health ? [['/health', healthPage(session)] as const] : []),
      ...documentPages(settings, session),
    ]),
    POST: new Map(passwordChange ? [['/-/password', passwordPage(session)]] : []),
  }
}

function documentPages({ openapi, explorer, info }: MountSettings, session: DbSession): Pages {
  const pages = new Map<string, PageHandler>()
  if (openapi === false) return pages
  const access = { rule: openapi, session }
  pages.set('/openapi.json', openApiPage({ ...access, info })).set('', rootPage(access, explorer))
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
