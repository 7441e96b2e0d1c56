import { LRUCache } from 'lru-cache'
import type { DataSource } from 'typeorm'
import type { Service } from '../../pipeline/service'
import { describeOne } from './describe'
import type { Usable, UsableResource } from './usable'

/**
 * Maximum total length of the descriptions in memory and their keys, in characters. As measured, the description of a resource
 * with 150 fields has 42,000. The least recently used are evicted.
 */
const maxLength = 8 * 1024 * 1024

/** The service is a new one after each initialization of the data source. */
const caches = new WeakMap<Service, LRUCache<string, string>>()

/**
 * The description of a resource, as JSON. It is kept in memory, because for 150 fields it takes up to 40 ms, and for several
 * lists of related records of this size up to 170 ms, during which no other request is handled.
 */
export function descriptionOf(
  resource: UsableResource,
  usable: Usable,
  service: Service,
  dataSource: DataSource,
): string {
  const descriptions = caches.get(service) ?? newCache()
  caches.set(service, descriptions)
  // The description also shows which related resources the principal may use.
  const key = [resource, ...usable.resources.values()].map(keyOf).join(' ')
  const description = descriptions.get(key) ?? JSON.stringify(describeOne(resource, usable, dataSource, service.limits))
  descriptions.set(key, description)
  return description
}

function newCache(): LRUCache<string, string> {
  return new LRUCache({ maxSize: maxLength, sizeCalculation: (text, key) => text.length + key.length })
}

function keyOf({ view, reads, writes }: UsableResource): string {
  return `${view.cacheKey}:${reads}:${[...writes].join()}`
}
