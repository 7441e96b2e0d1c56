import type { DataSource } from 'typeorm'
import type { SearchIndex } from '../../schema/resource-view'
import { indexedNames, quoteText, type TextSearch } from '../text-search'

function columnsSql({ driver }: DataSource, index: SearchIndex, alias?: string): string {
  const prefix = alias === undefined ? '' : `${driver.escape(alias)}.`
  return indexedNames(index)
    .map((name) => `${prefix}${driver.escape(name)}`)
    .join(', ')
}

/** Text search on MySQL and MariaDB: a FULLTEXT index in boolean mode. */
export const mysqlTextSearch: TextSearch = {
  matchSql: (dataSource, index, alias, placeholder) =>
    `MATCH (${columnsSql(dataSource, index, alias)}) AGAINST (${placeholder} IN BOOLEAN MODE)`,
  queryOf: (words) => words.map(termOf).join(' '),
  createSql: (dataSource, index, { tableName }) =>
    `CREATE FULLTEXT INDEX \`${index.name}\` ON \`${tableName}\` (${columnsSql(dataSource, index)})`,
  problemOf: async (index, { tableName }, runSql) => {
    const rows = await runSql(
      `SELECT column_name AS name, index_type AS type FROM information_schema.statistics WHERE table_schema = database() AND table_name = ${quoteText(tableName)} AND index_name = '${index.name}'`,
    )
    if (rows.length === 0) return 'does not exist'
    if (rows.some(({ type }) => type !== 'FULLTEXT')) return 'is not a FULLTEXT index'
    const names = rows.map(({ name }) => String(name))
    const isSame = names.length === index.columns.length && indexedNames(index).every((name) => names.includes(name))
    return isSame ? undefined : `has other columns: ${names.join(', ')}`
  },
}

/** Number of characters from which InnoDB adds words to the index, by default (`innodb_ft_min_token_size`). */
const minIndexedLength = 3

/**
 * Terms for a word of the text. They contain only letters, digits and underscores, none of which is an operator. Other characters
 * separate words in the index too: then the text must contain each part of the word, the last one as a beginning. Parts that are too
 * short for the index are left out. A phrase would find the parts only next to each other, but MariaDB cannot end the search for a
 * phrase: neither its time limit nor KILL stops it.
 */
function termOf(word: string): string {
  const parts = word.match(/[\p{L}\p{M}\p{N}_]+/gu) ?? []
  const isIndexed = (part: string): boolean => [...part].length >= minIndexedLength
  if (!parts.some(isIndexed)) return parts.map((part) => `+${part}*`).join(' ')
  const terms = parts.map((part, index) => (index === parts.length - 1 ? `+${part}*` : `+${part}`))
  return terms.filter((_, index) => isIndexed(parts[index] ?? '')).join(' ')
}
