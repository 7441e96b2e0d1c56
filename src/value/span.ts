import { dateKind, dateTimeKind, resolution } from './date-time'
import type { Kind } from './kind'

const day = 86_400_000
const second = 1000

/**
 * What begins where a value ends: the second that was given is over (D11), or the day.
 * @returns undefined behind the last value there is
 */
export function endOf(kind: Kind, value: unknown): unknown {
  if (kind === dateTimeKind) {
    const end = new Date((value as Date).getTime() + resolution(value as Date))
    return end.getUTCFullYear() > 9999 ? undefined : end
  }
  const [unit, moment] = kind === dateKind ? [day, `${value}T00:00:00Z`] : [second, `1970-01-01T${value}Z`]
  const end = new Date(Date.parse(moment) + unit)
  if (kind === dateKind) return end.getUTCFullYear() > 9999 ? undefined : end.toISOString().slice(0, 10)
  return end.getUTCDate() > 1 ? undefined : end.toISOString().slice(11, 19)
}
