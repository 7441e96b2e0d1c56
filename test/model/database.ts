import type { DataSource, EntityTarget, ObjectLiteral } from 'typeorm'
import { unusualNames } from '../world/vary'
import { openWorld, type World } from '../world/world'
import { entities } from './entities'
import { countLimit } from './lists'
import { keyParts, type Row, type Rows, rowsOf, type Value } from './rows'
import { ownedRelations, type ResourceName, relations, resourceNames, valueFields } from './schema'

/** A service with a database of generated rows. */
export interface ModelWorld {
  readonly world: World
  readonly rows: Rows
  /** Restores a row, whatever requests have changed in it. */
  readonly restore: (resource: ResourceName, row: Row) => Promise<void>
}

/** Limits that generated requests with a search would exceed. */
const wideLimits = { joins: 14, patternCost: 200, allPatterns: 2000 }

/** Creates a database with the rows of a seed, and opens a service with it. @param empty a resource without rows */
export async function openModelWorld(seed: number, empty?: ResourceName): Promise<ModelWorld> {
  const rows = rowsOf(seed, empty)
  const world = await openWorld({
    entities: Object.values(entities),
    columnOrder: seed,
    mount: { limits: { count: countLimit, ...wideLimits } },
    source: { namingStrategy: unusualNames(seed) },
    seed: (dataSource) => insertRows(dataSource, rows),
  })
  return {
    world,
    rows,
    restore: async (resource, row) => {
      await updateRow(world.dataSource, resource, row)
    },
  }
}

async function insertRows(dataSource: DataSource, rows: Rows): Promise<void> {
  for (const resource of resourceNames) {
    const plain = rows[resource].map((row) => ({ ...keyParts(resource, row.id), ...storedValues(row) }))
    if (plain.length > 0) await repositoryOf(dataSource, resource).insert(plain)
  }
  // Foreign keys are set after all rows are inserted.
  for (const resource of resourceNames) {
    for (const row of rows[resource]) {
      await updateRow(dataSource, resource, row)
      await linkRow(dataSource, resource, row)
    }
  }
}

const repositoryOf = (dataSource: DataSource, resource: ResourceName): ReturnType<typeof dataSource.getRepository> =>
  dataSource.getRepository(entities[resource] as EntityTarget<ObjectLiteral>)

/** The columns of a row except keys, as values for TypeORM. */
function storedValues({ values }: Row): ObjectLiteral {
  return Object.fromEntries(
    Object.entries(valueFields).map(([field, type]) => {
      const value = values[field] ?? null
      return [field, type === 'instant' && value !== null ? new Date(`${String(value).replace(' ', 'T')}Z`) : value]
    }),
  )
}

async function updateRow(dataSource: DataSource, resource: ResourceName, row: Row): Promise<void> {
  const references = Object.entries(relations[resource])
    .filter(([, { many }]) => !many)
    .map(([name, { target }]) => [name, referenceTo(target, row.values[name] ?? null)])
  const changes = { ...storedValues(row), ...Object.fromEntries(references) }
  await repositoryOf(dataSource, resource).update(keyParts(resource, row.id), changes)
}

const referenceTo = (target: ResourceName, id: Value): object | null => (id === null ? null : keyParts(target, id))

/** Inserts into junction tables with SQL, since TypeORM fails for keys of several columns and for unusual names. */
async function linkRow(dataSource: DataSource, resource: ResourceName, { id, many }: Row): Promise<void> {
  for (const name of ownedRelations[resource] ?? []) {
    const relation = dataSource.getMetadata(entities[resource]).findRelationWithPropertyPath(name)
    const junction = relation?.junctionEntityMetadata
    if (relation === undefined || junction === undefined) throw new Error(`${resource}.${name} has no junction table`)
    const columnsOf = (columns: typeof relation.joinColumns, key: Readonly<Record<string, Value>>): ObjectLiteral =>
      Object.fromEntries(
        columns.map((column) => [column.propertyName, key[column.referencedColumn?.propertyName ?? '']]),
      )
    const target = relations[resource][name]?.target ?? resource
    const rows = (many[name] ?? []).map((other) => ({
      ...columnsOf(relation.joinColumns, keyParts(resource, id)),
      ...columnsOf(relation.inverseJoinColumns, keyParts(target, other)),
    }))
    if (rows.length > 0) await dataSource.createQueryBuilder().insert().into(junction.tableName).values(rows).execute()
  }
}
