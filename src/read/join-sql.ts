import type { DataSource, ObjectLiteral, SelectQueryBuilder } from 'typeorm'
import { parameterPrefix } from '../connection/compile'
import type { Join } from '../query/query'

/** SQL of the conditions that joined records are visible. It is empty, or missing, for a table whose records all are. */
export type JoinVisibility = ReadonlyMap<Join, string>

/**
 * Joins the table of a relation.
 * @param visible SQL of the condition that a joined record is visible; empty if all are
 */
export function addJoin(
  dataSource: DataSource,
  builder: SelectQueryBuilder<ObjectLiteral>,
  join: Join,
  visible = '',
  method: 'leftJoin' | 'innerJoin' = 'leftJoin',
): void {
  const { condition: typePredicate, parameters } = typeCondition(dataSource, join)
  const { from, alias, relation } = join
  const keyPredicate = typePredicate === undefined ? undefined : inverseKeyCondition(dataSource, join)
  const condition = [keyPredicate, typePredicate, visible].filter(Boolean).join(' AND ')
  // If the foreign key is on the other side, TypeORM's own condition excludes the subclasses of the target.
  if (keyPredicate !== undefined) builder[method](relation.inverseEntityMetadata.target, alias, condition, parameters)
  else builder[method](`${from}.${relation.propertyPath}`, alias, condition === '' ? undefined : condition, parameters)
}

/**
 * Condition that the foreign key of a joined table refers to the table that has the relation.
 * @returns undefined for a relation whose foreign key is not in the joined table
 */
function inverseKeyCondition({ driver }: DataSource, { alias, from, relation }: Join): string | undefined {
  const { isOneToMany, isOneToOneNotOwner, inverseRelation } = relation
  if (inverseRelation === undefined || !(isOneToMany || isOneToOneNotOwner)) return undefined
  const equalities = inverseRelation.joinColumns.flatMap(({ databaseName, referencedColumn: key }) => {
    const foreignKey = `${driver.escape(alias)}.${driver.escape(databaseName)}`
    return key === undefined ? [] : [`${foreignKey} = ${driver.escape(from)}.${driver.escape(key.databaseName)}`]
  })
  return equalities.join(' AND ')
}

/**
 * Condition on the discriminator of a joined entity. Under single-table inheritance TypeORM adds it only for the main
 * table.
 */
function typeCondition(
  { driver }: DataSource,
  { alias, relation }: Join,
): { readonly condition?: string; readonly parameters?: ObjectLiteral } {
  const target = relation.inverseEntityMetadata
  if (target.tableType !== 'entity-child' || target.discriminatorColumn === undefined) return {}
  const targetAndChildren = [target, ...target.childEntityMetadatas]
  const types = targetAndChildren.map(({ discriminatorValue }, index) => [
    `${parameterPrefix}${alias}_${index}`,
    discriminatorValue,
  ])
  const parameterNames = types.map(([name]) => `:${name}`).join(', ')
  const discriminator = `${driver.escape(alias)}.${driver.escape(target.discriminatorColumn.databaseName)}`
  return {
    condition: `${discriminator} IN (${parameterNames})`,
    parameters: Object.fromEntries(types),
  }
}
