import type { DataSource, ObjectLiteral, SelectQueryBuilder } from 'typeorm'
import { parameterPrefix } from '../connection/compile'
import type { Join } from '../query/query'
import { type RelationMetadata, withJoinColumns } from '../schema/metadata'

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
  const keyPredicate = keyCondition(dataSource, join, typePredicate !== undefined)
  const condition = [keyPredicate, typePredicate, visible].filter(Boolean).join(' AND ')
  if (keyPredicate !== undefined) builder[method](relation.inverseEntityMetadata.target, alias, condition, parameters)
  else builder[method](`${from}.${relation.propertyPath}`, alias, condition === '' ? undefined : condition, parameters)
}

/**
 * Condition that the foreign key of one table refers to the other one.
 * @param hasSubclasses whether the joined entity shares its table with others
 * @returns undefined if the condition of TypeORM is correct. It is not in two cases: if the foreign key belongs to an embedded
 * entity ({@link withJoinColumns}), and if it is in the joined table and the joined entity has subclasses, which the
 * condition excludes
 */
function keyCondition(dataSource: DataSource, join: Join, hasSubclasses: boolean): string | undefined {
  const { relation, alias, from } = join
  if (relation.isManyToOne || relation.isOneToOneOwner) {
    return relation.embeddedMetadata && equalKeys(dataSource, relation, from, alias)
  }
  const { inverseRelation } = relation
  if (!hasSubclasses || inverseRelation === undefined || relation.isManyToMany) return undefined
  return equalKeys(dataSource, inverseRelation, alias, from)
}

/**
 * Condition that the foreign key of a relation, in the table `from`, refers to the table `to`.
 * @throws {Error} if the columns are unknown: without a condition, every record would be related to every other one
 */
export function equalKeys({ driver }: DataSource, relation: RelationMetadata, from: string, to: string): string {
  const equalities = withJoinColumns(relation).joinColumns.map(({ databaseName, referencedColumn }) => {
    if (referencedColumn === undefined) throw new Error(`${relation.propertyPath}.${databaseName} refers to no column`)
    const key = `${driver.escape(to)}.${driver.escape(referencedColumn.databaseName)}`
    return `${key} = ${driver.escape(from)}.${driver.escape(databaseName)}`
  })
  if (equalities.length === 0) throw new Error(`the relation ${relation.propertyPath} has no foreign key`)
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
