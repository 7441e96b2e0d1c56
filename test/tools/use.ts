/** Typical use of the types that openapi-typescript generates. */
import type { components, operations } from './out/openapi'

type City = components['schemas']['city']
type ListCities = operations['city.list']

export const city: City = {
  id: 1,
  name: 'Lisbon',
  population: 545_796,
  latitude: 38.72,
  longitude: -9.14,
  country_id: 1,
}
export const query: ListCities['parameters']['query'] = {
  country__region: 'Europe',
  population__gte: 1_000_000,
  ordering: ['-population'],
  limit: 5,
}
// @ts-expect-error: what is excluded is in no record
export const password: components['schemas']['user']['password'] = ''
export const secret: components['schemas']['user.create']['password'] = 'correct horse'
