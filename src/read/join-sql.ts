import type { DataSource, EntityMetadata, ObjectLiteral, SelectQueryBuilder } from 'typeorm'
import { discriminatorParameter } from '../connection/compile'
import { dialectOf } from '../dialect/dialect-of'
import type { Join } from '../query/query'
import { type ColumnMetadata, childrenOf, isView, type RelationMetadata, withJoinColumns } from '../schema/metadata'

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
  const target = relation.inverseEntityMetadata
  const condition = [viewTimeLimit(dataSource, target, alias), keyPredicate, typePredicate, visible]
    .filter(Boolean)
    .join(' AND ')
  if (keyPredicate !== undefined) builder[method](target.target, alias, condition, parameters)
  else builder[method](`${from}.${relation.propertyPath}`, alias, condition === '' ? undefined : condition, parameters)
}

/**
 * Condition that checks the time limit for each row of a table in the FROM clause, if it is a view, which may compute each row from many
 * others; empty if no check is needed.
 */
export function viewTimeLimit(dataSource: DataSource, metadata: EntityMetadata, alias: string): string {
  const [key] = metadata.primaryColumns
  if (!isView(metadata) || key === undefined) return ''
  const { driver } = dataSource
  return (
    dialectOf(dataSource).timeLimitSql(dataSource, `${driver.escape(alias)}.${driver.escape(key.databaseName)}`) ?? ''
  )
}

/**
 * Condition that the foreign key of one table refers to the other one. TypeORM's own condition is wrong in two cases: if the
 * foreign key belongs to an embedded entity ({@link withJoinColumns}), and if it is in the joined table and belongs to a
 * child entity, because the condition excludes the children of that entity.
 * @param isChild whether the joined entity is a child entity (single-table inheritance)
 * @returns undefined if TypeORM's own condition is correct
 */
function keyCondition(dataSource: DataSource, join: Join, isChild: boolean): string | undefined {
  const { relation, alias, from } = join
  if (relation.isManyToOne || relation.isOneToOneOwner) {
    return relation.embeddedMetadata && refersTo(dataSource, foreignKeyOf(relation), from, alias)
  }
  const { inverseRelation } = relation
  if (!isChild || inverseRelation === undefined || relation.isManyToMany) return undefined
  return refersTo(dataSource, foreignKeyOf(inverseRelation), alias, from)
}

/** The columns of the foreign key of a relation. */
export function foreignKeyOf(relation: RelationMetadata): readonly ColumnMetadata[] {
  return withJoinColumns(relation).joinColumns
}

/**
 * Condition that a foreign key in one table refers to a row of another one.
 * @param from alias of the table of the foreign key
 * @param to alias of the other table
 * @throws {Error} if the columns are unknown: without a condition, every record would be related to every other one
 */
export function refersTo(
  { driver }: DataSource,
  foreignKey: readonly ColumnMetadata[],
  from: string,
  to: string,
): string {
  if (foreignKey.length === 0) throw new Error(`a relation from ${from} to ${to} has no foreign key`)
  const equalities = foreignKey.map(({ databaseName, referencedColumn }) => {
    if (referencedColumn === undefined) throw new Error(`the foreign key ${databaseName} refers to no column`)
    const key = `${driver.escape(to)}.${driver.escape(referencedColumn.databaseName)}`
    return `${key} = ${driver.escape(from)}.${driver.escape(databaseName)}`
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
  const targetAndChildren = [target, ...childrenOf(target)]
  const types = targetAndChildren.map(({ discriminatorValue }) => discriminatorValue)
  const name = discriminatorParameter(types)
  const discriminator = `${driver.escape(alias)}.${driver.escape(target.discriminatorColumn.databaseName)}`
  return { condition: `${discriminator} IN (:...${name})`, parameters: { [name]: types } }
}
