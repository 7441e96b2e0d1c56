import type { ObjectLiteral, SelectQueryBuilder } from 'typeorm'
import type { Principal } from '../access/rule'
import { readingFromPrimary } from '../connection/replica'
import type { ServedResource, Service } from '../pipeline/service'
import { Policies } from '../query/policies'
import { selectVisible } from '../read/visible'
import { withPolicies } from '../write/write-store'

/**
 * Starts a query of the application for the records of a resource that a principal may see.
 * @param alias alias of the entity. Default: the name of the resource
 * @param readsPrimary whether the query decides about a write, for which a replica may be outdated
 */
export function visibleRecords<Entity extends ObjectLiteral>(
  { queryShapes }: Service,
  { fullStore, fullView }: ServedResource,
  principal: Principal,
  alias: string = fullView.name,
  readsPrimary = false,
): SelectQueryBuilder<Entity> {
  const store = withPolicies(fullStore, new Policies(principal, queryShapes))
  const dataSource = readsPrimary ? readingFromPrimary(store.dataSource) : store.dataSource
  return selectVisible(store, alias, dataSource)
}
