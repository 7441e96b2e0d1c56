import type { DataSource, EntityMetadata } from 'typeorm'
import type { SearchIndex } from '../schema/resource-view'
import type { RunSql } from './run-sql'

/** Search with a text search index of the database. */
export interface TextSearch {
  /**
   * Predicate that is true for the rows in which the index finds all words.
   * @param alias alias of the table
   * @param placeholder of the text that `queryOf` returns
   * @param selectsRows whether the database may start from the rows that the index finds; false if keys select the rows. PostgreSQL,
   * MySQL and MariaDB decide this by their statistics
   */
  readonly matchSql: (
    dataSource: DataSource,
    index: SearchIndex,
    alias: string,
    placeholder: string,
    selectsRows: boolean,
  ) => string
  /**
   * Text of a query for rows that contain a word with each of these beginnings, in the language of the index. Every
   * character of the words stands for itself. Without words, the query finds nothing.
   */
  readonly queryOf: (words: readonly string[], index: SearchIndex) => string
  /** Statement that creates the index of a table. */
  readonly createSql: (dataSource: DataSource, index: SearchIndex, metadata: EntityMetadata) => string
  /** What is wrong with the index in the database, as the end of a sentence; undefined if it can be used. */
  readonly problemOf: (index: SearchIndex, metadata: EntityMetadata, runSql: RunSql) => Promise<string | undefined>
}

/** Database names of the columns of an index. */
export function indexedNames({ columns }: SearchIndex): readonly string[] {
  return columns.map(({ column }) => column.databaseName)
}

/** A text in single quotes. Names in metadata are those of the application, not of a request. */
export function quoteText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}
