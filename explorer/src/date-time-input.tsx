import { useState } from 'preact/hooks'
import { instantOf, instantsAt, isoOf, localZone, shownDateTime, wallTime } from './date-time'
import { useSession } from './session'

interface DateTimeProps {
  /** Id and ARIA attributes of the input. */
  readonly common: { readonly id: string; readonly 'aria-describedby': string; readonly required?: boolean }
  /** ISO 8601 or a date-time of the service, for which {@link isPickable} is true. */
  readonly value: string
  readonly onChange: (text: string) => void
}

/** Whether a picker can show a date-time completely. It has no fractions of a second, and no years beyond 9999. */
export function isPickable(text: string): boolean {
  return text === '' || wallTimes(text).every((wall) => wall !== '')
}

function wallTimes(text: string): readonly string[] {
  const instant = instantOf(text)
  return instant === undefined ? [''] : [wallTime(instant, false), wallTime(instant, true)]
}

/** Date and time picker in the time zone of the page. It passes the instant in UTC to `onChange`, and shows it. */
export function DateTimeInput({ common, value, onChange }: DateTimeProps) {
  const { isLocalTime } = useSession()
  const [picked, setPicked] = useState('')
  const { instants, instead } = instantsAt(picked, isLocalTime)
  const possible = (instants.length > 0 ? instants : [instead]).map(textOf)
  const instant = instantOf(value)
  // A time that does not exist is kept as it was picked: otherwise the input would change while the user fills in its parts.
  const isPicked = picked !== '' && possible.includes(value)
  const shown = isPicked ? picked : instant === undefined ? '' : wallTime(instant, isLocalTime)
  const hint = `${common.id}-time`
  const pick = (text: string): void => {
    // Browsers leave out seconds that are zero.
    const wall = text.length === 16 ? `${text}:00` : text
    const { instants: found, instead: other } = instantsAt(wall, isLocalTime)
    setPicked(wall)
    onChange(wall === '' ? '' : textOf(found[0] ?? other))
  }
  const second = possible.find((text) => text !== value)
  return (
    <>
      <input
        {...common}
        type="datetime-local"
        step="1"
        aria-describedby={`${common['aria-describedby']} ${hint}`}
        value={shown}
        onInput={(event) => pick(event.currentTarget.value)}
      />
      <small id={hint}>
        <span role="status">
          {isLocalTime && isPicked && instants.length !== 1 && problemOf(instants.length, value)}
        </span>
        {isLocalTime && instant !== undefined && `In UTC: ${isoOf(instant)}`}
      </small>
      {isPicked && second !== undefined && (
        <button type="button" aria-describedby={hint} onClick={() => onChange(second)}>
          Send {shownDateTime(second, true)} instead
        </button>
      )}
    </>
  )
}

function textOf(instant: number): string {
  return Number.isNaN(instant) ? '' : isoOf(instant)
}

/** @param count number of instants at which the picked time is the local time */
function problemOf(count: number, sent: string): string {
  const [problem, change] = count === 0 ? ['does not exist', 'forward'] : ['exists twice', 'back']
  return `This time ${problem} in ${localZone()}, because clocks are set ${change}. ${shownDateTime(sent, true)} is sent. `
}
