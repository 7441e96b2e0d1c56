import type { DataSource, DataSourceOptions, Driver, EntityMetadata } from 'typeorm'
import type { ReadColumn, StoredColumn } from '../schema/stored-column'
import type { Kind } from '../value/kind'

/** A constraint of the database that a statement would have broken. */
export type Failure =
  | { readonly kind: 'unique'; readonly columns: readonly string[] }
  | {
      readonly kind: 'reference'
      /** Of the foreign key that points to nothing, where the database says it. */
      readonly columns: readonly string[]
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
}

/**
 * Why a statement that is right was not done: the database was not there or had no room, or has ended this one in favour of
 * others, and may do it the next time.
 */
export type Trouble = 'unavailable' | 'again'

/** Runs a statement. */
export type Ask = (sql: string) => Promise<readonly Readonly<Record<string, unknown>>[]>

/** A sort column as it stands in the token of a page. */
export interface PlaceSpelling {
  /** The column as it is read, nothing of it lost. */
  readonly read: string
  /** What it is sorted by. */
  readonly sorted: string
  /** What is compared, in the same order. */
  readonly compared: string
  /** What it is compared with, from the placeholder of what was read. */
  readonly bound: (placeholder: string) => string
}

/** What one kind of database spells in its own way. Columns and values come as SQL: escaped names, placeholders. */
export interface Dialect {
  /** Whether a column is one of the values. */
  readonly equalsAny: (column: string, kind: Kind, values: readonly string[]) => string
  /**
   * Whether a text matches a pattern of LIKE with `\` as escape (D16).
   * @param bind takes the pattern as this database wants it
   */
  readonly matches: (column: string, pattern: string, ignoreCase: boolean, bind: (pattern: string) => string) => string
  /** What a bound becomes, from what TypeORM stores for a value. */
  readonly bound: (value: unknown, stored: unknown) => unknown
  /** What the driver is given for a parameter. */
  readonly parameter: (value: unknown) => unknown
  /** How a column is read. */
  readonly read: (stored: ReadColumn, column: string) => string
  /** What the driver would have handed out for a value of a column that is read so; undefined where it is the same. */
  readonly readBack:
    | ((stored: ReadColumn, dataSource: DataSource) => ((value: unknown) => unknown) | undefined)
    | undefined
  /** What a stored value is shown as, where that can be told without reading it; undefined where it cannot. */
  readonly shown:
    | ((stored: ReadColumn, dataSource: DataSource) => ((value: unknown) => string | undefined) | undefined)
    | undefined
  /** How a sort column is kept in the token of a page, and compared with it, to the last digit. */
  readonly place: (stored: StoredColumn, column: string) => PlaceSpelling
  /** Where nulls must be said to sort, so that they are the least on every database. */
  readonly sayNulls: boolean
  /** Whether TypeORM has one connection for all requests. */
  readonly sharesConnection: boolean
  /** Keeps others from writing to a table until the transaction ends; undefined where nobody else can. */
  readonly lockTable: ((table: string) => string) | undefined
  /** Whether text that differs may be equal to a foreign key's constraint, as in case. */
  readonly isTextLoose: boolean
  /** Whether the database makes an index for each foreign key constraint. */
  readonly indexesReferences: boolean
  /** Whether an INSERT spells the defaults of columns, for want of a word for them. */
  readonly spellsDefaults: boolean
  /** Which statements can return what they have written. */
  readonly returning: (dataSource: DataSource, statement: 'insert' | 'update' | 'delete') => boolean
  /** What is dangerous in the settings of a data source, in sentences. */
  readonly dangersOf: (options: DataSourceOptions, ask: Ask) => Promise<readonly string[]>
  /** Has an error on a connection that nobody uses yet end nothing but the connection. */
  readonly guardPool: (driver: Driver) => void
  /** Closes a connection that must not be used again. */
  readonly discard: (connection: unknown) => void
  /** Whether it was none of the statement's doing; undefined for what was. */
  readonly troubleOf: (error: DriverError) => Trouble | undefined
  /** What an error says, without the values that its statement was about. */
  readonly withoutValues: (error: DriverError) => string
  /** Which constraint it was; undefined for what is none. */
  readonly failureOf: (error: DriverError, metadata: EntityMetadata) => Failure | undefined
}
