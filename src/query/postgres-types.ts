/** Reads the text of a value. */
type Parse = (text: string) => unknown

/** How pg reads what comes of each type of the server. */
export interface TypeParsers {
  readonly getTypeParser: (type: number, format?: string) => Parse
}

const timestamp = 1114
const timestamptz = 1184

/** How PostgreSQL writes an instant, unless its date style is another, it is infinite, or its year has not four digits. */
const written = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?$/

/**
 * Leaves instants that are written in UTC as ISO 8601 text: most are only shown. pg makes a date of them, of which the text would be
 * made anew.
 * @param parsers the application's own: what they would not read as that instant is left to them
 */
export function instantsAsText(parsers: TypeParsers): TypeParsers {
  const quick = new Map<number, Parse>([[timestamptz, leaveInstant(parsers.getTypeParser(timestamptz), '+00')]])
  // The local time of this process.
  if (Intl.DateTimeFormat().resolvedOptions().timeZone === 'UTC') {
    quick.set(timestamp, leaveInstant(parsers.getTypeParser(timestamp), ''))
  }
  return {
    getTypeParser: (type, format) =>
      (format === 'binary' ? undefined : quick.get(type)) ?? parsers.getTypeParser(type, format),
  }
}

/** @param offset how UTC is written */
function leaveInstant(parse: Parse, offset: string): Parse {
  const example = parse(`2001-02-03 04:05:06.789${offset}`)
  if (!(example instanceof Date && example.toJSON() === '2001-02-03T04:05:06.789Z')) return parse
  return (text) => {
    const instant = text.slice(0, text.length - offset.length)
    return text.endsWith(offset) && written.test(instant) ? `${instant.replace(' ', 'T')}Z` : parse(text)
  }
}

/** Whether a value of a column of instants is left as text. */
function isLeft(value: unknown): value is string {
  return typeof value === 'string' && value.endsWith('Z')
}

/** As it is shown, `YYYY-MM-DD HH:MM:SS`; undefined for what is not left as text. */
export function shownInstant(value: unknown): string | undefined {
  return isLeft(value) ? `${value.slice(0, 10)} ${value.slice(11, 19)}` : undefined
}

/** What pg would have made of it. */
export function readInstant(value: unknown): unknown {
  return isLeft(value) ? new Date(value) : value
}
