import type { DataSource } from 'typeorm'
import type { ValueType } from '../value/value-type'
import type { ColumnMetadata } from './metadata'

/** The kind of values of a column type, where the column says more: a length, a precision, members. */
export type BuildValueType = (column: ColumnMetadata, dataSource: DataSource) => ValueType

/** `binary` has no JSON form and is never exposed (specification: Values in JSON). */
export type ValueTypeEntry = ValueType | BuildValueType | 'binary'

/** By TypeORM's names of column types. */
export type ValueTypeTable = ReadonlyMap<string, ValueTypeEntry>
