import type { DataSource } from 'typeorm'
import type { ValueType } from '../value/value-type'
import type { ColumnMetadata } from './metadata'

/** Builds the value type of a column type that depends on the column: on its length, precision or members. */
export type BuildValueType = (column: ColumnMetadata, dataSource: DataSource) => ValueType

/** The value type of a column type. `binary` has no JSON form and is never exposed (specification: Values in JSON). */
export type ValueTypeEntry = ValueType | BuildValueType | 'binary'

/** Value types by TypeORM's names of column types. */
export type ValueTypeTable = ReadonlyMap<string, ValueTypeEntry>
