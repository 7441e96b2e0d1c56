import { useState } from 'preact/hooks'
import { localZone } from './date-time'

/** Key in the local storage, which the page may share with other pages of its origin. */
const storageKey = 'typeorm-resources-explorer-time'

/** Whether the user has chosen local time, also on an earlier visit. */
export function useLocalTime(): [isLocal: boolean, choose: (isLocal: boolean) => void] {
  const [isLocal, setLocal] = useState(() => !isUtc() && storage()?.getItem(storageKey) === 'local')
  const choose = (next: boolean): void => {
    storage()?.setItem(storageKey, next ? 'local' : 'utc')
    setLocal(next)
  }
  return [isLocal, choose]
}

/** Whether the time zone of the browser is UTC, so that there is nothing to choose. */
function isUtc(): boolean {
  return localZone() === 'UTC'
}

/** The local storage; undefined if the browser does not permit it. The choice is then lost when the page is closed. */
function storage(): Storage | undefined {
  try {
    return localStorage
  } catch {
    return undefined
  }
}

interface TimeZoneProps {
  readonly isLocalTime: boolean
  readonly onLocalTime: (isLocal: boolean) => void
}

/** Choice between UTC and the time zone of the browser, for all date-times of the page. */
export function TimeZone({ isLocalTime, onLocalTime }: TimeZoneProps) {
  if (isUtc()) return <span>Times in UTC</span>
  return (
    <label class="inline zone">
      <span>Times in</span>
      <select
        aria-label="Times in"
        value={isLocalTime ? 'local' : 'utc'}
        onChange={(event) => onLocalTime(event.currentTarget.value === 'local')}
      >
        <option value="utc">UTC</option>
        <option value="local">{localZone()} (local)</option>
      </select>
    </label>
  )
}
