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
  queryOf: (words) =>
    withoutImplied(words.flatMap(termsOf))
      .map((term) => `+${term}`)
      .join(' '),
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

/** Words that InnoDB does not add to the index, by default (`information_schema.innodb_ft_default_stopword`). */
const stopWords: ReadonlySet<string> = new Set(
  'a about an are as at be by com de en for from how i in is it la of on or that the this to was what when where who will with und the www'.split(
    ' ',
  ),
)

function isIndexed(part: string): boolean {
  return [...part].length >= minIndexedLength && !stopWords.has(part.toLowerCase())
}

/**
 * Terms for a word of the text. They contain only letters, digits and underscores, none of which is an operator. Other characters
 * separate words in the index too: then the text must contain each part of the word, the last one as a beginning. Parts that are not in
 * the index are left out. A phrase would find the parts only next to each other, but MariaDB cannot end the search for a phrase: neither
 * its time limit nor KILL stops it.
 */
function termsOf(word: string): readonly string[] {
  const parts = word.match(/[\p{L}\p{M}\p{N}_]+/gu) ?? []
  if (parts.length === 1 || !parts.some(isIndexed)) return parts.map((part) => `${part}*`)
  const terms = parts.map((part, index) => (index === parts.length - 1 ? `${part}*` : part))
  return terms.filter((_, index) => isIndexed(parts[index] ?? ''))
}

/**
 * The terms without those that others imply: a word that begins with `login` also begins with `log`. Each takes time that MariaDB may
 * not be able to limit.
 */
function withoutImplied(terms: readonly string[]): readonly string[] {
  const different = [...new Map(terms.map((term) => [term.toLowerCase(), term]))]
  return different.flatMap(([text, term]) => {
    const isImplied = different.some(
      ([other]) => other !== text && text.endsWith('*') && other.startsWith(text.slice(0, -1)),
    )
    return isImplied ? [] : [term]
  })
}
