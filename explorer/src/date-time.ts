/** Date-times of the service as the page shows them, and the local time of the browser. */

const pattern = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(?::(\d\d)(?:\.0+)?)?(Z|[+-]\d\d:?\d\d)?)?$/

/** Instant of a date-time without a fraction of a second. Without an offset it is UTC, as in the service. */
export function instantOf(text: string): number | undefined {
  const [, date, time = '00:00', second = '00', offset = 'Z'] = pattern.exec(text) ?? []
  if (date === undefined) return undefined
  const instant = Date.parse(`${date}T${time}:${second}${offset}`)
  const day = Date.parse(`${date}T00:00Z`)
  if (Number.isNaN(instant) || Number.isNaN(day)) return undefined
  // Some browsers parse 30 February as 1 March.
  return new Date(day).toISOString().startsWith(date) ? instant : undefined
}

/** ISO 8601 of an instant, in UTC: what the page sends. */
export function isoOf(instant: number): string {
  return new Date(instant).toISOString().replace('.000Z', 'Z')
}

/** Name of the time zone of the browser, such as `Europe/Berlin`. */
export function localZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone
}

/** Difference between local time and UTC at an instant, in milliseconds. `getTimezoneOffset` would drop its seconds. */
function offsetAt(instant: number): number {
  const date = new Date(instant)
  const wall = new Date(0)
  wall.setUTCFullYear(date.getFullYear(), date.getMonth(), date.getDate())
  wall.setUTCHours(date.getHours(), date.getMinutes(), date.getSeconds())
  return wall.getTime() - instant
}

/** Date and time of an instant, `2024-02-29T10:20:30`, as the value of a picker; empty if its year is beyond 9999. */
export function wallTime(instant: number, isLocal: boolean): string {
  const text = new Date(instant + (isLocal ? offsetAt(instant) : 0)).toISOString()
  return /^(?!0000)\d{4}-/.test(text) ? text.slice(0, 19) : ''
}

/** Offset of local time at an instant, such as `+01:00`; undefined if it has seconds, as local times before time zones. */
function offsetText(instant: number): string | undefined {
  const minutes = offsetAt(instant) / 60_000
  const [hours, rest] = [Math.trunc(Math.abs(minutes) / 60), Math.abs(minutes) % 60]
  const two = (number: number): string => String(number).padStart(2, '0')
  return Number.isInteger(minutes) ? `${minutes < 0 ? '-' : '+'}${two(hours)}:${two(rest)}` : undefined
}

/**
 * Text of a date-time for display. Local time has its offset, so that the two instants of a repeated hour are different. UTC
 * has a `Z` if it is shown because there is no local time of this form.
 */
export function shownDateTime(text: string, isLocal: boolean): string {
  const instant = instantOf(text)
  if (instant === undefined) return text
  const [utc, local] = [wallTime(instant, false), wallTime(instant, true)].map((wall) => wall.replace('T', ' '))
  if (!utc || !isLocal) return utc || text
  const offset = offsetText(instant)
  return local && offset ? local + offset : `${utc}Z`
}

/** {@link instantsAt} supports one change of the offset within this time before and after a picked time, in milliseconds. */
const dayMs = 86_400_000

/**
 * Instants of a picked time: none if clocks are set forward over it, two if they are set back to it.
 * @returns also the instant to send if there is none: that of the picked time with the offset before the change
 */
export function instantsAt(wall: string, isLocal: boolean): { instants: readonly number[]; instead: number } {
  const utc = Date.parse(`${wall}Z`)
  if (Number.isNaN(utc) || !isLocal) return { instants: Number.isNaN(utc) ? [] : [utc], instead: utc }
  const candidates = [...new Set([utc - offsetAt(utc - dayMs), utc - offsetAt(utc + dayMs)])]
  const instants = candidates.filter((one) => one + offsetAt(one) === utc).sort((one, other) => one - other)
  return { instants, instead: utc - offsetAt(utc - dayMs) }
}
