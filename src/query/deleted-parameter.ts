import type { OptionalName } from '../schema/list-parameters'
import type { ResourceView } from '../schema/resource-view'
import type { Policies } from './policies'

/**
 * Adds the parameter `deleted` to the optional ones of a request, if `may.restore` may permit the principal to restore
 * records (specification: Restoring records). The function of the application is called only for a request that may have
 * the parameter.
 */
export function withDeletedParameter(
  optional: ReadonlySet<OptionalName>,
  querystring: string,
  view: ResourceView,
  policies: Policies | undefined,
): ReadonlySet<OptionalName> {
  if (view.may.restore === undefined || !/deleted|%/.test(querystring)) return optional
  return policies?.permits(view, 'restore') === false ? optional : new Set([...optional, 'deleted'])
}
