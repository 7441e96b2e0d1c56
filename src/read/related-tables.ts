import type { DataSource, EntityMetadata } from 'typeorm'
import type { TableChange } from '../connection/change-feed'
import type { Condition, Inclusion, Join, Query } from '../query/query'
import { isComputed, type RelationMetadata } from '../schema/metadata'
import type { Store } from './store'

type ForeignKeyMetadata = EntityMetadata['foreignKeys'][number]

/** Paths of the tables that the rows of a query depend on, besides its own table. */
export interface RelatedTables {
  /** Tables that conditions and included records read. */
  readonly read: ReadonlySet<string>
  /** Those whose changes change the own table or one of `read`. */
  readonly passing: PassingTables
}

/** Tables whose changes the database passes on to some other tables, by foreign keys. */
export interface PassingTables {
  readonly deletions: ReadonlySet<string>
  readonly updates: ReadonlySet<string>
}

/** Whether the database may have passed a change on. */
export function isPassedOn({ table, isDeletion }: TableChange, { deletions, updates }: PassingTables): boolean {
  // One change can contain a deletion and an update of different records.
  return updates.has(table) || (isDeletion && deletions.has(table))
}

/** Finds the tables whose changes the database passes on to `tables`. */
export function passingTables(dataSource: DataSource, tables: readonly string[]): PassingTables {
  return { deletions: cascadingTables(dataSource, tables), updates: updatingTables(dataSource, tables) }
}

/** Finds the tables that the rows of a query depend on. @param inclusion the included records */
export function relatedTables(store: Store, query: Query, inclusion: Inclusion | undefined): RelatedTables {
  const read = new Set<string>()
  const add = (metadata: EntityMetadata | undefined): void => {
    if (metadata === undefined || read.has(metadata.tablePath)) return
    read.add(metadata.tablePath)
    // Nobody knows which tables the SQL of a view or of a virtual column reads.
    if (metadata.columns.some(isComputed)) store.dataSource.entityMetadatas.forEach(add)
  }
  const addRelation = ({ inverseEntityMetadata, junctionEntityMetadata }: RelationMetadata): void => {
    add(inverseEntityMetadata)
    add(junctionEntityMetadata)
  }
  const addJoins = (joins: readonly Join[]): void => {
    for (const { relation, visible } of joins) {
      addRelation(relation)
      if (visible !== undefined) addCondition(visible)
    }
  }
  const addCondition = (condition: Condition): void => {
    if (condition.type === 'exists') {
      addJoins([condition.first, ...condition.joins])
      addCondition(condition.where)
    } else if (condition.type === 'visible' || condition.type === 'permission') {
      const resolved = store.policies?.resolve(condition)
      if (resolved !== undefined) addCondition(resolved.condition)
    } else if (condition.type === 'not') addCondition(condition.condition)
    else if (condition.type === 'and' || condition.type === 'or') condition.conditions.forEach(addCondition)
  }
  const addQuery = ({ joins, where }: Query, included: Inclusion | undefined): void => {
    addJoins(joins)
    addCondition(where)
    addInclusion(included)
  }
  const addInclusion = (included: Inclusion | undefined): void => {
    for (const record of included?.records ?? []) addInclusion(record.inclusion)
    for (const list of included?.lists ?? []) {
      addRelation(list.relation)
      addQuery(list.query, list.query.inclusion)
    }
  }
  if (query.view.metadata.columns.some(isComputed)) add(query.view.metadata)
  addQuery(query, inclusion)
  const { dataSource } = store
  return { read, passing: passingTables(dataSource, [query.view.metadata.tablePath, ...read]) }
}

/** Values of ON DELETE and ON UPDATE with which the database changes the rows that refer to the changed row. */
const changingActions: readonly string[] = ['CASCADE', 'SET NULL', 'SET DEFAULT']

/** The foreign keys of a table. TypeORM adds those of child entities (single-table inheritance) to the parent only. */
function foreignKeysOf({ entityMetadatas }: DataSource, table: string): readonly ForeignKeyMetadata[] {
  return entityMetadatas.filter(({ tablePath }) => tablePath === table).flatMap(({ foreignKeys }) => foreignKeys)
}

/** Tables from which foreign keys pass deletions on to some tables, over any number of levels. */
function cascadingTables(dataSource: DataSource, tables: readonly string[]): ReadonlySet<string> {
  const cascading = new Set<string>()
  const visit = (table: string, actions: readonly string[]): void => {
    for (const { onDelete = '', referencedEntityMetadata: parent } of foreignKeysOf(dataSource, table)) {
      if (!actions.includes(onDelete) || cascading.has(parent.tablePath)) continue
      cascading.add(parent.tablePath)
      // Only a deletion is passed on further.
      visit(parent.tablePath, ['CASCADE'])
    }
  }
  for (const table of tables) visit(table, changingActions)
  return cascading
}

/**
 * Tables from which foreign keys pass updates on to some tables, over any number of levels. Updates of primary keys are left
 * out: no request can change them, and with many foreign keys that have ON UPDATE CASCADE, lists would be read without need.
 */
function updatingTables(dataSource: DataSource, tables: readonly string[]): ReadonlySet<string> {
  const updating = new Set<string>()
  const visited = new Set<string>()
  const visit = (table: string): void => {
    if (visited.has(table)) return
    visited.add(table)
    for (const foreignKey of foreignKeysOf(dataSource, table)) {
      const { onUpdate = '', referencedColumns, referencedEntityMetadata: parent } = foreignKey
      if (!changingActions.includes(onUpdate)) continue
      if (!referencedColumns.every(({ isPrimary }) => isPrimary)) updating.add(parent.tablePath)
      visit(parent.tablePath)
    }
  }
  tables.forEach(visit)
  return updating
}
