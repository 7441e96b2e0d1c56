import type { DataSource, DataSourceOptions, Driver, EntityMetadata, QueryRunner } from 'typeorm'
import type { CursorValue } from '../request/cursor'
import type { ColumnMetadata } from '../schema/metadata'
import type { ReadColumn, StoredColumn } from '../schema/stored-column'
import type { ValueType } from '../value/value-type'

/** A constraint of the database that a statement would have broken. */
export type ConstraintViolation =
  | { readonly kind: 'unique'; readonly columns: readonly string[] }
  | {
      readonly kind: 'reference'
      /** Of the foreign key that points to nothing, where the database says it. */
      readonly columns: readonly string[]
    }
  | {
      /** More levels of cascading foreign keys than the database follows. */
      readonly kind: 'depth'
      readonly columns: readonly []
    }
  | {
      readonly kind: 'value'
      readonly columns: readonly string[]
      /** Where the database names no column: whether it may be about this value. */
      readonly isAbout?: (value: unknown) => boolean
    }

/** An error as the database's driver throws it. */
export interface DriverError extends Error {
  readonly code?: string
  readonly errno?: number
  readonly column?: string
  readonly constraint?: string
  readonly detail?: string
  /** Where in the statement it is. */
  readonly position?: string
  /** The function of PostgreSQL's source that has noticed it. */
  readonly routine?: string
}

/**
 * Why a statement that is right was not done: the database was not there or had no room, or has ended this one in favour of
 * others, and may do it the next time; or it took longer than its time limit.
 */
export type TransientError = 'unavailable' | 'again' | 'timeout'

/** Runs a statement. */
export type RunSql = (sql: string) => Promise<readonly Readonly<Record<string, unknown>>[]>

/** A sort column as it stands in the token of a page. */
export interface CursorSql {
  /** The column as it is read, nothing of it lost. */
  readonly read: string
  /** What it is sorted by. */
  readonly sorted: string
  /** What is compared, in the same order. */
  readonly compared: string
  /** What it is compared with, from the placeholder of what was read. */
  readonly bound: (placeholder: string) => string
  /** Whether a value is one that the column may be read as, and can be compared with it. */
  readonly accepts: (value: CursorValue) => boolean
}

/** What is left of a date, a time or a date-time: what is shown of it, or of a date-time the milliseconds too. */
export type Digits = 'shown' | 'milliseconds'

/** What one kind of database spells in its own way. Columns and values come as SQL: escaped names, placeholders. */
export interface Dialect {
  /** Whether a column is one of the values. */
  readonly equalsAny: (column: string, kind: ValueType, values: readonly string[]) => string
  /** Whether columns are, together, equal to one of the rows of values. */
  readonly equalsAnyRow: (
    columns: readonly string[],
    kinds: readonly ValueType[],
    rows: readonly (readonly string[])[],
  ) => string
  /** A column of dates, times or date-times without the digits beyond these. */
  readonly truncated: (stored: StoredColumn, column: string, digits: Digits) => string
  /**
   * Whether a text matches a pattern of LIKE with `\` as escape (specification: Operators).
   * @param bind takes the pattern as this database wants it
   */
  readonly matches: (column: string, pattern: string, ignoreCase: boolean, bind: (pattern: string) => string) => string
  /** Whether two texts are the same, letter by letter, whatever the collation takes to be the same. */
  readonly equalsText: (one: string, other: string) => string
  /** What a column is compared with, from what TypeORM stores for a value. */
  readonly bound: (column: ColumnMetadata, stored: unknown) => unknown
  /** What is written to a column, from what TypeORM stores for a value. */
  readonly written: (column: ColumnMetadata, stored: unknown) => unknown
  /** What the driver is given for a parameter. */
  readonly parameter: (value: unknown) => unknown
  /** A column as it is compared with values, and sorted by. */
  readonly compared: (stored: StoredColumn, column: string) => string
  /** What a column is compared with, from the placeholder of a value. */
  readonly operand: (stored: StoredColumn, placeholder: string) => string
  /** How a column is read. */
  readonly read: (stored: ReadColumn, column: string) => string
  /** How many bytes a value of a column has in the database, without reading all of it where that can be told. */
  readonly bytes: (stored: ReadColumn, column: string) => string
  /** What the driver would have handed out for a value of a column that is read so; undefined where it is the same. */
  readonly readBack:
    | ((stored: ReadColumn, dataSource: DataSource) => ((value: unknown) => unknown) | undefined)
    | undefined
  /** What a stored value is shown as, where that can be told without reading it; undefined where it cannot. */
  readonly shown:
    | ((stored: ReadColumn, dataSource: DataSource) => ((value: unknown) => string | undefined) | undefined)
    | undefined
  /** How a sort column is kept in the token of a page, and compared with it, to the last digit. */
  readonly cursorSql: (stored: StoredColumn, column: string) => CursorSql
  /** Whether nulls are less than every value in an ORDER BY that does not say where they stand; else they are greater. */
  readonly areNullsLeast: boolean
  /** Whether it has `NULLS FIRST` and `NULLS LAST`. */
  readonly knowsNullsOrder: boolean
  /** Whether TypeORM has one connection for all requests. */
  readonly sharesConnection: boolean
  /** Keeps others from writing to a table until the transaction ends; undefined where nobody else can. */
  readonly lockTable: ((table: string) => string) | undefined
  /** One text after another. */
  readonly concatenate: (first: string, second: string) => string
  /** Whether text that differs may be equal to a foreign key's constraint, as in case. */
  readonly isTextLoose: boolean
  /** Whether the database makes an index for each foreign key constraint. */
  readonly indexesReferences: boolean
  /** Whether an INSERT spells the defaults of columns, for want of a word for them. */
  readonly spellsDefaults: boolean
  /** Whether columns can have `ON UPDATE`, which the database applies only where an UPDATE changes the row. */
  readonly hasOnUpdate: boolean
  /** Which statements can return what they have written. */
  readonly returning: (dataSource: DataSource, statement: 'insert' | 'update' | 'delete') => boolean
  /** What is dangerous in the settings of a data source, in sentences. */
  readonly dangersOf: (options: DataSourceOptions, ask: RunSql) => Promise<readonly string[]>
  /**
   * Prepares the connections of a data source: an error on one that is not in use ends nothing but that connection, and statements of this
   * service are prepared, and ended after a time limit.
   * @param timeLimit in milliseconds; Infinity for none
   */
  readonly prepareConnections: (driver: Driver, timeLimit: number) => void
  /** A condition that ends the statement when its time is over, for the rows of a subquery; undefined where the database ends it by itself. */
  readonly whileInTime: (dataSource: DataSource, column: string) => string | undefined
  /** Ends the statement that a connection is running, from outside; undefined where none can be. Resolves when no later one can be hit. */
  readonly cancel: ((driver: Driver, connection: unknown) => Promise<void>) | undefined
  /**
   * Prepares a query runner that this service has created; the application's own are left as they are.
   * @param timeLimit milliseconds that a statement of this service may take; Infinity for none
   */
  readonly prepareRunner: (runner: QueryRunner, timeLimit: number) => void
  /** Closes a connection that must not be used again. */
  readonly discard: (connection: unknown) => void
  /** Whether it was none of the statement's doing; undefined for what was. */
  readonly transientErrorOf: (error: DriverError) => TransientError | undefined
  /** What an error says, without the values that its statement was about. */
  readonly withoutValues: (error: DriverError) => string
  /** Which constraint it was; undefined for what is none. */
  readonly violationOf: (error: DriverError, metadata: EntityMetadata) => ConstraintViolation | undefined
}
