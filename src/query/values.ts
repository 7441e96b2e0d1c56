import { randomUUID } from 'node:crypto'
import type { DataSource, ObjectLiteral } from 'typeorm'
import type { Target } from '../plan/plan'
import type { ColumnMetadata } from '../schema/metadata'
import type { Resource } from '../schema/registry'
import type { ReadColumn } from '../schema/stored-column'
import { compile, gather, statementOf } from './compile'
import type { Session } from './connection'
import { dialectOf } from './dialect-of'
import { type ColumnValue, columnValues, setPath } from './entity'
import { sizeCondition } from './measure'
import { fromValues, readerOf, selection } from './row'
import { readRawItem } from './select'
import { executeWrite, type RawRow } from './statement'
import { bindTarget, isTarget, whereTarget } from './target-condition'
import { spelledDefaults, spelledUpdates, toValueSet } from './value-set'

/** Inserts one record. @returns it as it is stored: from the statement itself, where the database can return it */
export async function insertValues(session: Session, resource: Resource, entity: ObjectLiteral): Promise<RawRow> {
  const { dataSource } = session
  const { metadata, row, key } = resource
  const canReturn = dialectOf(dataSource).returning(dataSource, 'insert')
  giveKey(dataSource, resource, entity, canReturn)
  const returned = !canReturn ? [] : isTable(row) ? row : key.columns
  const { values, bind } = gather()
  const { toSet, shape } = toValueSet(dataSource, columnValues(metadata, entity), bind)
  const defaults = spelledDefaults(dataSource, metadata, entity)
  const spelled = defaults.map(([{ propertyPath }, text]) => `\n${propertyPath} ${text}`)
  const cacheKey = shape === undefined ? undefined : `INSERT ${resource.name}${shape}${spelled.join('')}`
  const statement = statementOf(session, cacheKey, () => {
    const set = toSet()
    for (const [column, text] of defaults) setPath(set, column.propertyPath, () => text)
    const columns = insertedColumns(metadata.columns)
    const builder = dataSource.createQueryBuilder().insert().into(metadata.target, columns).values(set)
    return compile(dataSource, builder.updateEntity(false), values.length, returning(dataSource, returned))
  })
  const result = await executeWrite(session, statement, values)
  const [found] = result.records
  if (returned === row && found !== undefined) return found
  const keyValues = found === undefined ? keyOf(resource, entity, result.raw) : readerOf(key.columns, dataSource)(found)
  const stored = await readRawItem(session, resource, fromValues(keyValues))
  if (stored === undefined) throw new Error(`INSERT into ${metadata.tableName} returned no row`)
  return stored
}

/** Updates one record. @returns it as it is stored; undefined when the target is gone */
export async function updateValues(
  session: Session,
  resource: Resource,
  target: Target,
  columns: readonly ColumnValue[],
): Promise<RawRow | undefined> {
  const { dataSource } = session
  const { metadata, row } = resource
  const canReturn = isTable(row) && dialectOf(dataSource).returning(dataSource, 'update')
  const { values, bind } = gather()
  const { toSet, shape } = toValueSet(dataSource, columns, bind)
  const placeholders = bindTarget(dataSource, resource, target, bind)
  const { maxBytes } = target
  const cacheKey = shape === undefined ? undefined : `UPDATE ${resource.name} ${maxBytes}${shape}`
  const statement = statementOf(session, cacheKey, () => {
    const set = toSet()
    for (const [column, text] of spelledUpdates(dataSource, metadata, columns))
      setPath(set, column.propertyPath, () => text)
    const builder = dataSource
      .createQueryBuilder()
      .update(metadata.target)
      .set(set)
      .updateEntity(false)
      .where(whereTarget(dataSource, resource, placeholders))
    const isShort = maxBytes === undefined ? undefined : sizeCondition(dataSource, row, maxBytes)
    if (isShort !== undefined) builder.andWhere(isShort)
    return compile(dataSource, builder, values.length, canReturn ? returning(dataSource, row) : '')
  })
  const { records, affected = 0 } = await executeWrite(session, statement, values)
  if (canReturn) return records[0]
  const stored = await readRawItem(session, resource, target.key)
  // A driver may count what has changed, not what matches: the record itself says whether it is the target still.
  if (stored === undefined) return undefined
  return affected > 0 || isTarget(resource, readerOf(row, dataSource)(stored), target) ? stored : undefined
}

/** Deletes one record; one with a `@DeleteDateColumn` is marked. @returns whether there was one for the target */
export async function deleteValues(session: Session, resource: Resource, target: Target): Promise<boolean> {
  const { dataSource } = session
  const { metadata, key } = resource
  const isSoft = metadata.deleteDateColumn !== undefined
  const canReturn = dialectOf(dataSource).returning(dataSource, isSoft ? 'update' : 'delete')
  const { values, bind } = gather()
  const placeholders = bindTarget(dataSource, resource, target, bind)
  const statement = statementOf(session, `DELETE ${resource.name}`, () => {
    const builder = dataSource.createQueryBuilder()
    const deletion = isSoft ? builder.softDelete().from(metadata.target) : builder.delete().from(metadata.target)
    return compile(
      dataSource,
      deletion.where(whereTarget(dataSource, resource, placeholders)),
      values.length,
      canReturn ? returning(dataSource, key.columns) : '',
    )
  })
  const { records, affected = 0 } = await executeWrite(session, statement, values)
  return canReturn ? records.length > 0 : affected > 0
}

export function isTable(columns: readonly ReadColumn[]): boolean {
  return columns.every(({ column }) => !column.isVirtualProperty)
}

function returning(dataSource: DataSource, columns: readonly ReadColumn[]): string {
  const { driver } = dataSource
  const names = selection(dataSource, columns).map(([column, name]) => `${column} AS ${driver.escape(name)}`)
  return names.length === 0 ? '' : ` RETURNING ${names.join(', ')}`
}

/** What the database computes takes no value, and TypeORM would give it one. @returns undefined for all */
function insertedColumns(columns: readonly ColumnMetadata[]): string[] | undefined {
  if (columns.every((column) => column.asExpression === undefined)) return undefined
  return columns.filter((column) => column.isInsert && column.asExpression === undefined).map((one) => one.propertyPath)
}

/**
 * Gives a record the key that TypeORM would, which belongs to it alone. Where the database cannot say which one it has made, it
 * must be known before, or be counted up.
 */
function giveKey({ driver }: DataSource, { metadata }: Resource, entity: ObjectLiteral, canReturn: boolean): void {
  for (const column of metadata.generatedColumns.filter((one) => one.getEntityValue(entity) === undefined)) {
    if (column.generationStrategy === 'uuid' && !driver.isUUIDGenerationSupported()) {
      column.setEntityValue(entity, randomUUID())
    } else if (!canReturn && column.isPrimary && column.generationStrategy !== 'increment') {
      throw new Error(`${metadata.name}.${column.propertyPath} is a key that the database makes and cannot return`)
    }
  }
}

function keyOf({ key }: Resource, entity: ObjectLiteral, raw: unknown): readonly unknown[] {
  const { insertId } = Object(raw) as { readonly insertId?: unknown }
  return key.columns.map(({ column }) => column.getEntityValue(entity) ?? insertId)
}
