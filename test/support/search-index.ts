import type { DataSource } from 'typeorm'
import { isMariadb, isPostgres } from '../world/leg'

/**
 * Creates the text search index that the documentation recommends.
 * @param columns of the table, in the order of the option
 */
export async function createSearchIndex(
  dataSource: DataSource,
  table: string,
  name: string,
  columns: readonly string[],
  configuration = 'simple',
): Promise<void> {
  if (isPostgres) {
    const texts = columns.map((column) => `coalesce("${column}", '')`).join(` || ' ' || `)
    await dataSource.query(`CREATE INDEX ${name} ON "${table}" USING gin (to_tsvector('${configuration}', ${texts}))`)
  } else if (isMariadb) {
    await dataSource.query(`CREATE FULLTEXT INDEX ${name} ON \`${table}\` (${columns.join(', ')})`)
  } else {
    const list = columns.join(', ')
    const values = (row: string): string => columns.map((column) => `${row}.${column}`).join(', ')
    const remove = `INSERT INTO ${name} (${name}, rowid, ${list}) VALUES ('delete', old.id, ${values('old')});`
    const add = `INSERT INTO ${name} (rowid, ${list}) VALUES (new.id, ${values('new')});`
    const statements = [
      `CREATE VIRTUAL TABLE ${name} USING fts5(${list}, content='${table}', content_rowid='id')`,
      `INSERT INTO ${name} (${name}) VALUES ('rebuild')`,
      `CREATE TRIGGER ${name}_insert AFTER INSERT ON ${table} BEGIN ${add} END`,
      `CREATE TRIGGER ${name}_delete AFTER DELETE ON ${table} BEGIN ${remove} END`,
      `CREATE TRIGGER ${name}_update AFTER UPDATE ON ${table} BEGIN ${remove} ${add} END`,
    ]
    for (const statement of statements) await dataSource.query(statement)
  }
}
