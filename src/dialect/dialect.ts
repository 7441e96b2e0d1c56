import type { DataSource, Driver, EntityMetadata, QueryRunner } from 'typeorm'
import type { CursorValue } from '../request/cursor'
import type { ColumnMetadata } from '../schema/metadata'
import type { ReadColumn, StoredColumn } from '../schema/stored-column'
import type { AggregateSql } from './aggregate-sql'
import type { OpenCursor } from './row-cursor'
import type { RunSql } from './run-sql'
import type { TextSearch } from './text-search'

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
      /** A policy of row level security does not permit the record. */
      readonly kind: 'rowPolicy'
      readonly columns: readonly []
    }
  | {
      /** A value is out of range, too long, null or otherwise rejected. */
      readonly kind: 'value'
      readonly columns: readonly string[]
      /** Whether the column does not support the operator of a filter, so that the error occurs for any stored row. */
      readonly isUnsupportedOperator?: boolean
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
 * Kind of transient error: the statement failed for a reason other than its SQL or values.
 * - `unavailable`: the database cannot be reached or lacks resources.
 * - `retry`: the database has cancelled the statement because of a conflict, such as a deadlock; a retry may succeed.
 * - `timeout`: the statement has exceeded its time limit.
 */
export type TransientError = 'unavailable' | 'retry' | 'timeout'

/** Settings of the database for one transaction: names and values in turn. */
export type TransactionSettings = readonly string[]

/** SQL and checks of keyset paging for one sort column. */
export interface CursorSql {
  /**
   * Expression that reads the exact value for a cursor. For a text that is longer than `maxCursorTextLength`, it may
   * read any value that a cursor cannot hold, such as a longer part of the text.
   */
  readonly read: string
  /** Expression in ORDER BY. It may differ from `sortSql`. */
  readonly sorted: string
  /** Expression that is compared with the value of a cursor, in the same order as `sorted`. */
  readonly compared: string
  /** Converts the placeholder of a cursor value into the operand of the comparison. */
  readonly operand: (placeholder: string) => string
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
export type Precision = 'shown' | 'milliseconds'

/** Everything that differs between databases: one object each for SQLite, PostgreSQL, and MySQL with MariaDB. */
export interface Dialect
  extends SqlExpressions,
    AggregateSql,
    ValueConversions,
    DatabaseFeatures,
    ConnectionControl,
    ErrorClassification {
  readonly textSearch: TextSearch
}

/**
 * SQL expressions. String parameters for columns, tables and values are SQL: escaped names and placeholders. The
 * parameter `stored` is the metadata of the column whose SQL is `column`.
 */
export interface SqlExpressions {
  /** Predicate that a column equals one of the values; texts are compared character by character. */
  readonly equalsAny: (stored: StoredColumn, column: string, values: readonly string[]) => string
  /** Row comparison: predicate that the tuple of columns equals one of the tuples of values. */
  readonly equalsAnyRow: (
    stored: readonly StoredColumn[],
    columns: readonly string[],
    rows: readonly (readonly string[])[],
  ) => string
  /**
   * Predicate that a column has the value that an INSERT stores for a value with more digits; undefined if the column stores
   * all digits of the values of its type. It can use an index.
   * @param bind binds the value
   * @param exact builds the predicate that the column has the value itself
   */
  readonly equalsStored: (
    stored: StoredColumn,
    column: string,
    dataSource: DataSource,
    bind: () => string,
    exact: () => string,
  ) => string | undefined
  /** Expression that truncates a date, time or date-time column to a precision. */
  readonly truncateSql: (stored: StoredColumn, column: string, precision: Precision) => string
  /**
   * Predicate that a text matches a LIKE pattern, whose escape character is `\` (specification: Operators).
   * @param bind binds the pattern after its conversion to the syntax of this database
   */
  readonly likeSql: (
    stored: StoredColumn,
    column: string,
    pattern: string,
    ignoreCase: boolean,
    bind: (pattern: string) => string,
  ) => string
  /** Predicate that two texts are equal character by character, independent of the collation. */
  readonly equalsText: (left: string, right: string) => string
  /** Expression of a column in comparisons. */
  readonly comparisonSql: (stored: StoredColumn, column: string) => string
  /** Expression of a column in the ORDER BY of a list without cursors. */
  readonly sortSql: (stored: StoredColumn, column: string) => string
  /** Expression that a column is compared with, such as a cast of the placeholder. */
  readonly operandSql: (stored: StoredColumn, placeholder: string) => string
  /**
   * Expression for the greatest form in which the database may store the value of an operand. The operand is the least one.
   * They differ only for date-times of SQLite.
   */
  readonly greatestFormSql: (stored: StoredColumn, operand: string) => string
  /** Expression that INSERT and UPDATE set a column to, such as a cast of the placeholder. */
  readonly assignmentSql: (column: ColumnMetadata, placeholder: string) => string
  /** Expression that reads a column in SELECT. */
  readonly selectSql: (stored: ReadColumn, column: string) => string
  /** Expression for the size of a value in bytes; if possible it does not read the whole value. */
  readonly sizeSql: (stored: ReadColumn, column: string) => string
  /** Expression that concatenates two texts. */
  readonly concatenate: (first: string, second: string) => string
  /** SQL and checks of keyset paging for a sort column. Cursors hold exact values. */
  readonly cursorSql: (stored: StoredColumn, column: string) => CursorSql
  /** Expression for a column in a comparison that the database should not use to select rows. */
  readonly unindexedSql: (column: string) => string
  /**
   * The predicate, of which the database expects that most rows match it: it then prefers the indexes of other predicates.
   * PostgreSQL, MySQL and MariaDB have statistics instead.
   */
  readonly likelySql: (predicate: string) => string
  /** Predicate that is true if another one is false or unknown (null). */
  readonly notTrueSql: (predicate: string) => string
  /**
   * Predicate that is always true, and that aborts the statement when its time limit is exceeded; undefined if the
   * database enforces the limit by itself.
   * @param column a column; the time is checked for each row of its table that the database evaluates
   */
  readonly timeLimitSql: (dataSource: DataSource, column: string) => string | undefined
  /** Statement that prevents other transactions from writing to a table; undefined if no other transaction can run. */
  readonly lockTable: ((table: string) => string) | undefined
}

/** Conversions of values between TypeORM, the driver and JSON. */
export interface ValueConversions {
  /** Converts a value that TypeORM has prepared for the column into the value that is bound in comparisons. */
  readonly toComparedValue: (column: ColumnMetadata, prepared: unknown) => unknown
  /** Converts a value that TypeORM has prepared for the column into the value that is bound in INSERT and UPDATE. */
  readonly toStoredValue: (column: ColumnMetadata, prepared: unknown) => unknown
  /** Converts the value of a bind parameter into one that the driver accepts. */
  readonly toDriverParameter: (value: unknown) => unknown
  /**
   * Converts the value of a bind parameter for a statement that the application runs on a connection of its own, whose
   * driver may write values into the SQL.
   */
  readonly toQueryParameter: (value: unknown) => unknown
  /**
   * Builds a function that converts a value, as selected by `selectSql`, into the value that the driver returns for the
   * plain column; undefined if both are the same.
   */
  readonly driverValueReader:
    | ((stored: ReadColumn, dataSource: DataSource) => ((value: unknown) => unknown) | undefined)
    | undefined
  /**
   * Builds a function that renders a value, as selected by `selectSql`, directly as the text in JSON. This is a fast path:
   * it returns undefined for values that `driverValueReader` has to convert first.
   */
  readonly jsonTextReader:
    | ((stored: ReadColumn, dataSource: DataSource) => ((value: unknown) => string | undefined) | undefined)
    | undefined
}

/** Features of a database that determine which SQL is written. */
export interface DatabaseFeatures {
  /**
   * Whether ORDER BY without `NULLS FIRST` or `NULLS LAST` treats null as less than all values; otherwise as greater.
   */
  readonly areNullsLeast: boolean
  /** Whether the database supports `NULLS FIRST` and `NULLS LAST`. */
  readonly supportsNullsOrder: boolean
  /**
   * Whether a subquery through a to-many relation is correlated with the outer row, as `EXISTS (…)`. Otherwise it is
   * `key IN (…)`, which the database runs once.
   */
  readonly correlatesSubqueries: boolean
  /**
   * Whether a subquery that does not depend on the outer row always runs at most once for each statement. PostgreSQL runs that
   * of IN again for each row if it expects a result that does not fit into `work_mem`.
   */
  readonly runsSubqueryOnce: boolean
  /**
   * Which subqueries through to-many relations the database may merge into the outer statement, where they become joins:
   * - `none`
   * - `chained`: only those inside of another one, or with another one inside
   * - `all`: then even two subqueries on the same row, or one on a joined row, multiply the numbers of rows
   */
  readonly mergesSubqueries: 'none' | 'chained' | 'all'
  /**
   * How a statement reads the first related records of each of several parents: `lateral` joins a subquery with LIMIT for
   * each parent, `in` selects the keys that such a subquery returns, and `window` numbers the related records of all
   * parents. The first two read only as many index entries as the lists need, where an index has the order of the list.
   */
  readonly listsPerParent: 'lateral' | 'in' | 'window'
  /**
   * Maximum average number of related records per parent up to which the lists of a many-to-many relation are read without a
   * limit for each parent. Undefined if `listsPerParent` is always used.
   */
  readonly maxUnlimitedManyToMany: number | undefined
  /**
   * Isolation level for writes that are checked before the commit, against row scopes and permissions: the check must see
   * what others have committed since the transaction began. Undefined for the default of the database.
   */
  readonly checkedWriteIsolation: 'READ COMMITTED' | undefined
  /** Statement that checks deferred constraints before the COMMIT; undefined if the database has none. */
  readonly deferredCheckSql: string | undefined
  /** Whether texts that differ only in case or accents may be equal. */
  readonly comparesTextLoosely: boolean
  /** Whether an error of a statement makes all further statements of its transaction fail, up to a savepoint. */
  readonly failsTransactions: boolean
  /**
   * Whether UPDATE and DELETE may have a subquery that selects from their own table, and report the number of matching rows.
   */
  readonly writesBySubquery: boolean
  /**
   * TypeORM's lock mode for rows that will be updated. With the one of PostgreSQL, other transactions can still insert records that
   * refer to these rows.
   */
  readonly updateLock: 'pessimistic_write' | 'for_no_key_update'
  /** Whether `FOR UPDATE` locks the rows of joined tables too, because it cannot name the table to lock. */
  readonly locksJoins: boolean
  /** Whether TypeORM has a single connection for all requests. */
  readonly sharesConnection: boolean
  /**
   * Whether the collation of a column treats different texts as equal, for example texts that differ only in case. A
   * foreign key constraint then accepts a text that differs from the referenced one.
   */
  readonly hasLooseCollation: (stored: StoredColumn) => boolean
  /** Whether the database creates an index for each foreign key constraint. */
  readonly indexesReferences: boolean
  /**
   * Whether INSERT must contain the default expressions of columns, because the database does not accept `DEFAULT` in
   * VALUES.
   */
  readonly needsDefaultExpressions: boolean
  /** Whether columns can have `ON UPDATE`, which the database applies only if an UPDATE changes the row. */
  readonly hasOnUpdate: boolean
  /**
   * In which cases a SELECT computes its columns also for rows after its LIMIT: if it sorts them; if it sorts them and has joins or
   * subqueries; or if it sorts them, and the columns are expressions without a query.
   */
  readonly computesBeforeLimit: 'sorted' | 'joined' | 'expressions'
  /** Maximum number of columns of a SELECT. */
  readonly maxColumns: number
  /** Whether a statement supports `RETURNING`. */
  readonly supportsReturning: (dataSource: DataSource, statement: 'insert' | 'update' | 'delete') => boolean
}

/** Settings of the database that apply to one transaction, for example for the policies of row level security. */
export interface SettingsSupport {
  /** Whether the driver of a data source supports them. */
  readonly isSupported: (dataSource: DataSource) => boolean
  /** Makes a statement run in a transaction of its own with these settings. @param values its bind values */
  readonly attach: (values: unknown[], settings: TransactionSettings) => void
  /** Sets the values for the transaction that a connection has just begun, before its first statement. */
  readonly begin: (connection: unknown, settings: TransactionSettings) => void
}

/** Preparation and control of connections. */
export interface ConnectionControl {
  /**
   * Prepares the connections of a data source: an error on an idle connection closes only this connection, and
   * statements of this service run as prepared statements with a time limit. A connection on which the database does not
   * answer them is destroyed.
   * @param timeLimit in milliseconds; Infinity for no limit
   */
  readonly prepareConnections: (driver: Driver, timeLimit: number) => void
  /**
   * Prepares a query runner that this service has created. The application's own query runners are not changed.
   * @param timeLimit time limit for statements of this service, in milliseconds; Infinity for no limit
   */
  readonly prepareRunner: (runner: QueryRunner, timeLimit: number) => void
  /**
   * Cancels the statement that is running on a connection; undefined if the database does not support this. The promise
   * resolves as soon as the request can no longer cancel a later statement of the same connection.
   */
  readonly cancel: ((driver: Driver, connection: unknown) => Promise<void>) | undefined
  /**
   * Opens a cursor for a SELECT in the transaction of a query runner; undefined if all requests share one connection,
   * which a cursor would keep from all others until a slow client has received the last record.
   */
  readonly openCursor: OpenCursor | undefined
  /** Whether a batch of the cursor ends when its rows have reached a size. */
  readonly limitsCursorBytes: boolean
  /** Undefined if the database has no settings for one transaction. */
  readonly settings: SettingsSupport | undefined
  /**
   * Gives the statements that begin and end a transaction on a connection the time limit too, after which a connection
   * without an answer is destroyed. Returns a function to call after the transaction. Undefined for a database in this process.
   */
  readonly limitTransaction: ((connection: unknown) => () => void) | undefined
  /** Closes a connection that must not be used again. */
  readonly discard: (connection: unknown) => void
  /** Warnings about the settings of a data source and its database, and about its tables, as sentences. */
  readonly settingsWarnings: (dataSource: DataSource, runSql: RunSql) => Promise<readonly string[]>
}

/** Interpretation of the errors of the driver. */
export interface ErrorClassification {
  /** Kind of transient failure; undefined if the statement itself is the cause. */
  readonly transientErrorOf: (error: DriverError) => TransientError | undefined
  /** The constraint that was violated; undefined for other errors. */
  readonly violationOf: (error: DriverError, metadata: EntityMetadata) => ConstraintViolation | undefined
  /** Error message from which the values of the statement have been removed. */
  readonly withoutValues: (error: DriverError) => string
}
