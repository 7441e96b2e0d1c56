import { LRUCache } from 'lru-cache'
import type { DataSource } from 'typeorm'
import { callForPrincipal } from '../access/call-function'
import type { Principal } from '../access/rule'
import { type QueryShapeCache, removeShapesOf } from '../query/query-shape'
import { buildStore, type Store, withView } from '../read/store'
import type { FieldPermissionFunction } from '../schema/field-permissions'
import type { Registry, ResourceView, ResourceViews } from '../schema/resource-view'
import { buildWriteStore } from '../write/build-write-store'
import type { WriteStore } from '../write/write-store'

/** The views and stores of the principals who have the same field permissions (specification: Field permissions). */
export interface Profile {
  /** Identifies the profile in the mount. */
  readonly key: string
  readonly views: ResourceViews
  /** Returns the store of a resource. It is built when it is first needed. @param name name of the resource */
  readonly storeOf: (name: string) => WriteStore
}

/** The profiles of a mount. */
export interface Profiles {
  /** The profile with all field permissions. */
  readonly full: Profile
  /** Whether there are other profiles, because a function in the option `fields` decides. */
  readonly dependOnPrincipal: boolean
  /**
   * Returns the profile of a principal, for which it calls all functions in the option `fields`. It must be called once for
   * each check of the access.
   * @throws {TypeError} if a function returns anything but a boolean: a mistake of the application
   */
  readonly profileOf: (principal: Principal) => Profile
}

/**
 * Maximum number of fields in the profiles in memory, besides those that a profile shares with the one that has all
 * permissions. As measured, a field takes 1 KiB. The least recently used profiles are evicted.
 */
const maxFields = 30_000
/** Number of profiles that fit into memory even if each of them is very large. */
const minProfiles = 5

/**
 * @param hasDatabasePolicies whether policies of the database may hide records from a principal
 * @param queryShapes the cache of the mount; the shapes of a profile are removed with the profile
 */
export function buildProfiles(
  { resources, fieldPermissions }: Registry,
  dataSource: DataSource,
  hasDatabasePolicies: boolean,
  queryShapes: QueryShapeCache,
): Profiles {
  const { functions, buildViews } = fieldPermissions
  const buildOf: BuildStore = (view, storeOf, writeStoreOf) =>
    buildWriteStore(buildStore(view, dataSource, storeOf), hasDatabasePolicies, writeStoreOf)
  const full = buildProfile('full', resources, buildOf)
  const dependOnPrincipal = functions.length > 0
  if (!dependOnPrincipal) return { full, dependOnPrincipal, profileOf: () => full }
  const profiles = new LRUCache<string, Profile>({
    maxSize: maxFields,
    sizeCalculation: ({ views }) => Math.min(countOwnFields(views, resources), maxFields / minProfiles),
    dispose: ({ views }) => removeShapesOf(views.values(), queryShapes),
  })
  const profileOf: Profiles['profileOf'] = (principal) => {
    const results = functions.map((one) => callFieldPermission(one, principal))
    if (results.every(Boolean)) return full
    const key = results.join()
    const known = profiles.get(key)
    if (known !== undefined) return known
    const profile = buildProfile(key, buildViews(results), (view, storeOf, writeStoreOf) =>
      sharesFields(view, full.views)
        ? { ...full.storeOf(view.name), view, storeOf, writeStoreOf }
        : buildOf(view, storeOf, writeStoreOf),
    )
    profiles.set(key, profile)
    return profile
  }
  return { full, dependOnPrincipal, profileOf }
}

/** Number of fields that views do not share with the views with all permissions; each view counts as one more. */
function countOwnFields(views: ResourceViews, full: ResourceViews): number {
  let count = 0
  for (const view of views.values()) count += sharesFields(view, full) ? 1 : 1 + view.outputFields.length
  return count
}

/** Whether a view has the same fields as the one with all permissions, so that both are read and rendered alike. */
function sharesFields({ name, outputFields, writableFields }: ResourceView, full: ResourceViews): boolean {
  const other = full.get(name)
  return outputFields === other?.outputFields && writableFields === other.writableFields
}

/** Builds the store of a view. */
type BuildStore = (
  view: ResourceView,
  relatedStoreOf: Store['storeOf'],
  writeStoreOf: WriteStore['writeStoreOf'],
) => WriteStore

function buildProfile(key: string, views: ResourceViews, build: BuildStore): Profile {
  const stores = new Map<string, WriteStore>()
  /** The stores of views with selected fields, which cached query shapes refer to. */
  const narrowStores = new WeakMap<ResourceView, Store>()
  const storeOf = (name: string): WriteStore => {
    const known = stores.get(name)
    if (known !== undefined) return known
    const view = views.get(name)
    if (view === undefined) throw new Error(`there is no resource ${name}`)
    const store = build(view, relatedStoreOf, (related) => storeOf(related.name))
    stores.set(name, store)
    return store
  }
  const relatedStoreOf = (view: ResourceView): Store => {
    const store = storeOf(view.name)
    if (store.view === view) return store
    const known = narrowStores.get(view)
    if (known !== undefined) return known
    const narrowStore = withView(store, view)
    narrowStores.set(view, narrowStore)
    return narrowStore
  }
  return { key, views, storeOf }
}

/** @throws {TypeError} for a result that is not a boolean: a mistake of the application */
function callFieldPermission({ permission, title }: FieldPermissionFunction, principal: Principal): boolean {
  const result = callForPrincipal(title, permission, principal)
  if (typeof result === 'boolean') return result
  throw new TypeError(`${title} must return true or false, not ${typeof result}`)
}
