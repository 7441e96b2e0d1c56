import type { TransactionSettings } from '../dialect/dialect'

/** Name of a setting that an application may define in PostgreSQL: `app.user_id`. */
const namePattern = /^[a-z_]\w*(\.[a-z_]\w*)+$/i

/**
 * Parses the result of the option `databaseSettings`: names and values of PostgreSQL settings. Error messages contain no
 * values, because these may be secret.
 * @returns undefined if there are no settings
 * @throws {TypeError} for a name or value that a setting cannot have: a mistake of the application
 */
export function parseSettings(returned: unknown): TransactionSettings | undefined {
  if (typeof returned !== 'object' || returned === null || Array.isArray(returned)) {
    throw new TypeError(`"databaseSettings" must return an object, such as { 'app.user_id': '1' }`)
  }
  const settings = Object.entries(returned).flatMap(([name, value]) => {
    if (!namePattern.test(name)) {
      throw new TypeError(
        `"databaseSettings" has the name "${name}"; a name has two or more words with dots in between, such as "app.user_id"`,
      )
    }
    return [name, textOf(name, value)]
  })
  return settings.length === 0 ? undefined : settings
}

/** Text of a value of a setting. */
function textOf(name: string, value: unknown): string {
  const isText = typeof value === 'string' && !value.includes('\0')
  if (isText || typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value)))
    return String(value)
  throw new TypeError(`"databaseSettings": ${name} must be a string, a finite number or a boolean`)
}
