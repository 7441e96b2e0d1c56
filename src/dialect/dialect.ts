import type { DataSource, DataSourceOptions, Driver, EntityMetadata, QueryRunner } from 'typeorm'
import type { CursorValue } from '../request/cursor'
import type { ColumnMetadata } from '../schema/metadata'
import type { ReadColumn, StoredColumn } from '../schema/stored-column'

/** Constraint violation that made a statement fail. */
export type ConstraintViolation =
  | { readonly kind: 'unique'; readonly columns: readonly string[] }
  | {
      readonly kind: 'reference'
      /**
       * For INSERT and UPDATE: the columns of the foreign key that refers to no record, if the database reports them.
       */
      readonly columns: readonly string[]
    }
  | {
      /** Foreign keys cascade over more levels than the database supports. */
      readonly kind: 'depth'
      readonly columns: readonly []
    }
  | {
      /** A value is out of range, too long, null or otherwise rejected. */
      readonly kind: 'value'
      readonly columns: readonly string[]
      /** Set if the database reports no column. Returns whether a given value may have caused the error. */
      readonly isAbout?: (value: unknown) => boolean
    }

/** Error of the database driver (pg, mysql2, better-sqlite3, sqlite3). */
export interface DriverError extends Error {
  readonly code?: string
  readonly errno?: number
  /** SQLSTATE (MySQL and MariaDB). PostgreSQL has it as `code`. */
  readonly sqlState?: string
  readonly column?: string
  readonly constraint?: string
  readonly detail?: string
  /** Position of the error in the SQL, in characters from 1 (PostgreSQL). */
  readonly position?: string
  /** Function in PostgreSQL's source code that reported the error. */
  readonly routine?: string
}

/**
 * Kind of transient error: the statement failed for a reason that does not lie in its SQL or values.
 * - `unavailable`: the database cannot be reached or lacks resources.
 * - `again`: the database has cancelled the statement because of a conflict, such as a deadlock; a retry may succeed.
 * - `timeout`: the statement has exceeded its time limit.
 */
export type TransientError = 'unavailable' | 'again' | 'timeout'

/** Executes a statement and returns its rows. */
export type RunSql = (sql: string) => Promise<readonly Readonly<Record<string, unknown>>[]>

/** SQL and checks of keyset paging for one sort column. */
export interface CursorSql {
  /** Expression that reads the exact value for a cursor. */
  readonly read: string
  /** Expression in ORDER BY. */
  readonly sorted: string
  /** Expression that is compared with the value of a cursor, in the same order as `sorted`. */
  readonly compared: string
  /** Converts the placeholder of a cursor value into the operand of the comparison. */
  readonly bound: (placeholder: string) => string
  /**
   * Condition that holds for all rows before (`<`) or after (`>`) a cursor and for those equal to it, and maybe for a few
   * more. Defined only if the database cannot use an index for `compared`, but can for this condition.
   */
  readonly seek?: (operator: '<' | '>', bound: string) => string
  /** Whether the column can contain a value of a cursor, so that a comparison does not fail. */
  readonly accepts: (value: CursorValue) => boolean
}

/**
 * Precision to which dates, times and date-times are truncated. `shown` is the precision in responses: whole seconds
 * for times and date-times. `milliseconds` is used for date-times only.
 */
export type Digits = 'shown' | 'milliseconds'

/**
 * Everything that differs between databases. String parameters that stand for columns, tables and values are SQL:
 * escaped names and placeholders.
 */
export interface Dialect {
  /** Predicate that a column equals one of the values; texts are compared character by character. */
  readonly equalsAny: (stored: StoredColumn, column: string, values: readonly string[]) => string
  /** Row comparison: predicate that the tuple of columns equals one of the tuples of values. */
  readonly equalsAnyRow: (
    stored: readonly StoredColumn[],
    columns: readonly string[],
    rows: readonly (readonly string[])[],
  ) => string
  /** Expression that truncates a date, time or date-time column to a precision. */
  readonly truncated: (stored: StoredColumn, column: string, digits: Digits) => string
  /**
   * Predicate that a text matches a LIKE pattern, whose escape character is `\` (specification: Operators).
   * @param bind binds the pattern after its conversion to the syntax of this database
   */
  readonly matches: (
    stored: StoredColumn,
    column: string,
    pattern: string,
    ignoreCase: boolean,
    bind: (pattern: string) => string,
  ) => string
  /** Predicate that two texts are equal character by character, independent of the collation. */
  readonly equalsText: (left: string, right: string) => string
  /** Converts a value, as prepared by TypeORM for the column, into the value that is bound in comparisons. */
  readonly bound: (column: ColumnMetadata, stored: unknown) => unknown
  /** Converts a value, as prepared by TypeORM for the column, into the value that is bound in INSERT and UPDATE. */
  readonly written: (column: ColumnMetadata, stored: unknown) => unknown
  /** Expression that INSERT and UPDATE set a column to, such as a cast of the placeholder. */
  readonly assigned: (column: ColumnMetadata, placeholder: string) => string
  /** Converts the value of a bind parameter into one that the driver accepts. */
  readonly parameter: (value: unknown) => unknown
  /** Expression of a column in comparisons and in ORDER BY. */
  readonly compared: (stored: StoredColumn, column: string) => string
  /** Expression that a column is compared with, such as a cast of the placeholder. */
  readonly operand: (stored: StoredColumn, placeholder: string) => string
  /** Expression that reads a column in SELECT. */
  readonly read: (stored: ReadColumn, column: string) => string
  /** Expression for the size of a value in bytes; if possible it does not read the whole value. */
  readonly bytes: (stored: ReadColumn, column: string) => string
  /**
   * Builds a function that converts a value, as selected by `read`, into the value that the driver returns for the
   * plain column; undefined if both are the same.
   */
  readonly readBack:
    | ((stored: ReadColumn, dataSource: DataSource) => ((value: unknown) => unknown) | undefined)
    | undefined
  /**
   * Builds a function that renders a value, as selected by `read`, directly as the text in JSON. This is a fast path:
   * it returns undefined for values that `readBack` has to convert first.
   */
  readonly shown:
    | ((stored: ReadColumn, dataSource: DataSource) => ((value: unknown) => string | undefined) | undefined)
    | undefined
  /** SQL and checks of keyset paging for a sort column. Cursors hold exact values. */
  readonly cursorSql: (stored: StoredColumn, column: string) => CursorSql
  /**
   * Whether ORDER BY without `NULLS FIRST` or `NULLS LAST` treats null as less than all values; otherwise as greater.
   */
  readonly areNullsLeast: boolean
  /** Whether the database supports `NULLS FIRST` and `NULLS LAST`. */
  readonly knowsNullsOrder: boolean
  /**
   * Whether a subquery through a to-many relation is correlated with the outer row, as `EXISTS (…)`. Otherwise it is
   * `key IN (…)`, which the database runs once.
   */
  readonly correlatesSubqueries: boolean
  /** Whether TypeORM has a single connection for all requests. */
  readonly sharesConnection: boolean
  /** Statement that prevents other transactions from writing to a table; undefined if no other transaction can run. */
  readonly lockTable: ((table: string) => string) | undefined
  /** Expression that concatenates two texts. */
  readonly concatenate: (first: string, second: string) => string
  /**
   * Whether the collation of a column treats different texts as equal, for example texts that differ only in case. A
   * foreign key constraint then accepts a text that differs from the referenced one.
   */
  readonly isLoose: (stored: StoredColumn) => boolean
  /** Whether the database creates an index for each foreign key constraint. */
  readonly indexesReferences: boolean
  /**
   * Whether INSERT must contain the default expressions of columns: the database does not accept `DEFAULT` in VALUES.
   */
  readonly spellsDefaults: boolean
  /** Whether columns can have `ON UPDATE`, which the database applies only if an UPDATE changes the row. */
  readonly hasOnUpdate: boolean
  /** Whether a statement supports `RETURNING`. */
  readonly returning: (dataSource: DataSource, statement: 'insert' | 'update' | 'delete') => boolean
  /** Warnings about the settings of a data source and its database, as sentences. */
  readonly dangersOf: (options: DataSourceOptions, runSql: RunSql) => Promise<readonly string[]>
  /**
   * Prepares the connections of a data source: an error on an idle connection closes only this connection, and
   * statements of this service run as prepared statements with a time limit.
   * @param timeLimit in milliseconds; Infinity for no limit
   */
  readonly prepareConnections: (driver: Driver, timeLimit: number) => void
  /**
   * Predicate that is always true, and that aborts the statement when its time limit is exceeded; undefined if the
   * database enforces the limit by itself.
   * @param column a column; the time is checked for each row of its table that the database evaluates
   */
  readonly whileInTime: (dataSource: DataSource, column: string) => string | undefined
  /**
   * Cancels the statement that is running on a connection; undefined if the database does not support this. The promise
   * resolves as soon as the request can no longer cancel a later statement of the same connection.
   */
  readonly cancel: ((driver: Driver, connection: unknown) => Promise<void>) | undefined
  /**
   * Prepares a query runner that this service has created. The application's own query runners are not changed.
   * @param timeLimit time limit for statements of this service, in milliseconds; Infinity for no limit
   */
  readonly prepareRunner: (runner: QueryRunner, timeLimit: number) => void
  /** Closes a connection that must not be used again. */
  readonly discard: (connection: unknown) => void
  /** Kind of transient failure; undefined if the statement itself is the cause. */
  readonly transientErrorOf: (error: DriverError) => TransientError | undefined
  /** Error message from which the values of the statement have been removed. */
  readonly withoutValues: (error: DriverError) => string
  /** The constraint that was violated; undefined for other errors. */
  readonly violationOf: (error: DriverError, metadata: EntityMetadata) => ConstraintViolation | undefined
}
