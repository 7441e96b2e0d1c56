import type { EntityMetadata } from 'typeorm'
import type { Report } from '../errors'
import { buildResource, linkView } from './build-resource'
import { checkRowScopes } from './build-row-scope'
import type { MountContext, ScanContext } from './context'
import type { Registration } from './registration'
import type { FilterNames, ResourceView, ResourceViews } from './resource-view'

/**
 * Builds the views of all resources. They lead to each other: the view of a related resource is that of the same
 * principal.
 * @param scan with the options of the resources as they apply to the principal
 * @param allNames returns the names that filter objects may use
 * @param fullViews views with all permissions. A view of one of their registrations shares its fields
 */
export function buildViews(
  scan: ScanContext,
  allNames: (metadata: EntityMetadata) => FilterNames,
  fullViews: ReadonlyMap<Registration, ResourceView>,
  report: Report,
): ResourceViews {
  const byEntity = new Map<EntityMetadata, ResourceView>()
  const context: MountContext = { ...scan, byEntity }
  const views = new Map<string, ResourceView>()
  for (const registration of scan.registrations) {
    const { metadata } = registration
    const reportHere: Report = (mistake) => report(`${metadata.name}: ${mistake}`)
    const full = fullViews.get(registration)
    const view = full
      ? { ...full, ...linkView(registration, full.name, context, allNames, reportHere) }
      : buildResource(registration, context, allNames, reportHere)
    if (view === undefined) continue
    const other = views.get(view.name)
    if (other !== undefined) {
      const isSameName = other.metadata.name === metadata.name
      const [first, second] = [other.metadata, metadata].map(({ name, tablePath }) =>
        isSameName ? `${name} (table ${tablePath})` : name,
      )
      report(`${first} and ${second} are both named "${view.name}": give one a "name"`)
    }
    views.set(view.name, view)
    byEntity.set(metadata, view)
  }
  const withScope = scan.registrations.filter(({ options }) => options.scope !== undefined)
  checkRowScopes([...byEntity.values()], new Set(withScope.map(({ metadata }) => metadata)), report)
  return views
}
