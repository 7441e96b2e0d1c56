/**
 * Quoted texts in PostgreSQL's text forms of arrays and `hstore`: a backslash escapes the character after it. The
 * functions search for the next special character, because a loop over the characters of 1 MB takes 0.1 seconds.
 */

/** Position of the quotation mark that ends the text which starts with one at `start`. */
export function endOfQuoted(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let escapes = end
    while (text[escapes - 1] === '\\') escapes -= 1
    if ((end - escapes) % 2 === 0) return end
  }
  return text.length
}

/** The control characters, which a JSON string may not contain, each with its escape sequence. */
const controlCharacters = Array.from({ length: 32 }, (_, code) => {
  const character = String.fromCharCode(code)
  return [character, JSON.stringify(character).slice(1, -1)] as const
})
const controlPattern = /[\0-\x1f]/

/**
 * The text between the quotation marks at `start` and `end`, without the backslashes that escape characters. PostgreSQL
 * escapes quotation marks and backslashes as JSON does; `JSON.parse` is ten times as fast as replacing them.
 */
export function unquote(text: string, start: number, end: number): string {
  const quoted = text.slice(start + 1, end)
  if (!quoted.includes('\\')) return quoted
  const isJson = !controlPattern.test(quoted)
  return JSON.parse(`"${isJson ? quoted : escapeControlCharacters(quoted)}"`) as string
}

function escapeControlCharacters(text: string): string {
  return controlCharacters.reduce((result, [character, sequence]) => result.replaceAll(character, sequence), text)
}
