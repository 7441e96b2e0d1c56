import { type DataSource, EntitySchema } from 'typeorm'
import type { ScopeResult } from 'typeorm-resources'
import type { Json } from '../../src/value/value-type'
import { apiOf } from '../client'
import { permitAllAsUser1 } from '../support/access'
import { openWorld, type World } from '../world/world'
import { legColumns } from './types/leg-table'
import { pairsOf } from './types/pairs'
import { operatorsOf, schemaColumn, type TypedColumn } from './types/row'

/**
 * The service refuses some writes before the database sees them, by comparing the values of the body with those of the row
 * scope. For each column type, a scope permits a value exactly if the filter with the value of the scope finds it.
 */

const compared = legColumns.filter(({ row }) => operatorsOf[row.filters].includes('eq'))
const entities = [...new Set(compared.map(({ resource }) => resource))].map((name) => {
  const own = compared.filter(({ resource }) => resource === name)
  const columns = own.map((column) => [column.name, schemaColumn(column.type, column.row.options)])
  return new EntitySchema({
    name,
    columns: { id: { type: Number, primary: true, generated: true }, ...Object.fromEntries(columns) },
  })
})

let scope: ScopeResult = true

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities,
    seed: alter,
    mount: { resources: entities.map((entity) => ({ entity, auth: permitAllAsUser1, scope: () => scope })) },
  })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

async function alter(dataSource: DataSource): Promise<void> {
  for (const { resource, name, row } of compared) {
    if (row.altered) await dataSource.query(`ALTER TABLE ${resource} MODIFY ${name} ${row.altered}`)
  }
}

const { get, post } = apiOf(() => world.url)

async function writeInScope({ resource, name }: TypedColumn, value: Json, ofScope: ScopeResult): Promise<number> {
  scope = ofScope
  try {
    return (await post(resource, { [name]: value })).status
  } finally {
    scope = true
  }
}

test.each(compared.map((column) => [column.label, column] as const))('%s', async (_, column) => {
  const { resource, name } = column
  let equalPairs = 0
  for (const [value, other] of pairsOf(column)) {
    const reply = await post(resource, { [name]: value })
    if (reply.status !== 201) continue
    const { id } = reply.json() as { readonly id: number }
    const found = await get(`${resource}/?id=${id}&${name}=${encodeURIComponent(String(other))}`)
    if (found.status !== 200) continue
    const isEqual = (found.json() as { readonly objects: readonly unknown[] }).objects.length === 1
    const statuses = [
      await writeInScope(column, value, { [name]: String(other) }),
      await writeInScope(column, value, { not: { [name]: String(other) } }),
    ]
    expect({ value, other, isEqual, statuses }).toEqual({
      value,
      other,
      isEqual,
      statuses: isEqual ? [201, 403] : [403, 201],
    })
    if (isEqual) equalPairs++
  }
  expect(equalPairs).toBeGreaterThan(0)
})
