import type { DataSource } from 'typeorm'
import type { Kind } from '../value/kind'
import type { ColumnMetadata } from './metadata'

/** The kind of values of a column type, where the column says more: a length, a precision, members. */
export type BuildKind = (column: ColumnMetadata, dataSource: DataSource) => Kind

/** `binary` has no JSON form and is never exposed (specification: Values in JSON). */
export type KindEntry = Kind | BuildKind | 'binary'

/** By TypeORM's names of column types. */
export type KindTable = ReadonlyMap<string, KindEntry>
