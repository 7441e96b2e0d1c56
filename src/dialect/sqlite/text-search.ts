import { indexedNames, type TextSearch } from '../text-search'
import { timeLimitSql } from './time-limit'

const quote = (text: string): string => `"${text.replaceAll('"', '""')}"`

/**
 * Number of characters of a word that are searched for. FTS5 makes a phrase of a word with separators, and with the tokenizer `trigram` of
 * every word: it cannot be interrupted while it looks for a phrase.
 */
const maxWordLength = 64

/** Text search on SQLite: an FTS5 table with the table as external content, so that both have the same row ids. */
export const sqliteTextSearch: TextSearch = {
  matchSql: ({ options }, { name, columns }, alias, placeholder, selectsRows) => {
    const timeLimit = options.type === 'better-sqlite3' ? ` AND ${timeLimitSql('rowid')}` : ''
    // The integer key is the row id. `_rowid_` could be another column with this name.
    const [key] = columns[0]?.column.entityMetadata.primaryColumns ?? []
    const rowId = `${quote(alias)}.${quote(key?.databaseName ?? '_rowid_')}`
    return `${selectsRows ? rowId : `+${rowId}`} IN (SELECT rowid FROM ${quote(name)} WHERE ${quote(name)} MATCH ${placeholder}${timeLimit})`
  },
  // The table may have more columns than the option. In quotes, a quote is the only special character.
  queryOf: (words, index) => {
    const terms = words.map((word) => `${quote([...word].slice(0, maxWordLength).join(''))}*`)
    return `{${indexedNames(index).map(quote).join(' ')}} : (${terms.join(' AND ') || '""'})`
  },
  createSql: (_, index, { tableName, primaryColumns }) => {
    const [key] = primaryColumns
    const names = indexedNames(index).map(quote).join(', ')
    const content = `content=${quote(tableName)}, content_rowid=${quote(key?.databaseName ?? 'rowid')}`
    return `CREATE VIRTUAL TABLE ${quote(index.name)} USING fts5(${names}, ${content})`
  },
  problemOf: async (index, { tableName, primaryColumns }, runSql) => {
    const [key, ...others] = primaryColumns
    if (others.length > 0 || !/^(integer|number)$/i.test(typeNameOf(key?.type))) {
      return 'cannot be used: an FTS5 table needs an entity with an integer key'
    }
    const [found] = await runSql(`SELECT sql FROM sqlite_master WHERE type = 'table' AND name = '${index.name}'`)
    if (found === undefined) return 'does not exist'
    const sql = String(found['sql'])
    if (!/\busing\s+fts5\b/i.test(sql)) return 'is not an FTS5 table'
    if (contentOf(sql)?.toLowerCase() !== tableName.toLowerCase()) {
      return `does not have ${tableName} as external content`
    }
    const rows = await runSql(`SELECT name FROM pragma_table_info('${index.name}')`)
    const names = rows.map(({ name }) => String(name))
    const missing = indexedNames(index).filter((name) => !names.includes(name))
    return missing.length === 0 ? undefined : `has no column ${missing.join(', ')}`
  },
}

/** The option `content` in the statement that created an FTS5 table. Its value may be in quotes, which are doubled inside it. */
function contentOf(sql: string): string | undefined {
  const [, quote = '', quoted, plain] =
    /[(,]\s*content\s*=\s*(?:(["'`])((?:(?!\1).|\1\1)*)\1|([^"'`,)\s]+))/is.exec(sql) ?? []
  return quoted?.replaceAll(quote + quote, quote) ?? plain
}

function typeNameOf(type: unknown): string {
  return typeof type === 'function' ? type.name : String(type)
}
