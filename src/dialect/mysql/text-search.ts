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

/**
 * Term for a word of the text. It contains only letters, digits and underscores, none of which is an operator. Other characters separate words in the index too: such a word becomes a phrase, because each of its parts may
 * be too short for the index.
 */
function termOf(word: string): string {
  const [first = '', ...others] = word.match(/[\p{L}\p{M}\p{N}_]+/gu) ?? []
  return others.length === 0 ? `+${first}*` : `+"${[first, ...others].join(' ')}"`
}
