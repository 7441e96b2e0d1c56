import type { PoolClient } from './connection'

/**
 * The styles that pg and this service read. A role, a database or `extra.options` may set others, in which pg makes null of a
 * date-time, and floats lose digits: a cursor would lie before the record it was made of. One statement without SET, of which
 * poolers that hand connections around keep track too.
 */
const styles: Readonly<Record<string, string>> = {
  DateStyle: 'ISO',
  IntervalStyle: 'postgres',
  // Any number from 1 on has PostgreSQL 12 and later write as many digits as tell a float from others; before 12 it takes 3.
  extra_float_digits: '3',
}

const setStyles = `SELECT ${Object.entries(styles)
  .map(([name, style]) => `set_config('${name}', '${style}', false)`)
  .join(', ')}`

const known = new WeakSet<PoolClient>()

/** Has a connection write dates, intervals and floats as they are read here, before its first statement. */
export function useOwnStyles(client: PoolClient): void {
  if (known.has(client)) return
  known.add(client)
  const query = client.query.bind(client)
  let isSet = false
  let setting: Promise<void> | undefined
  const set = async (): Promise<void> => {
    try {
      await query(setStyles)
      isSet = true
    } finally {
      // After an error, as of a cancellation, the next statement tries again.
      setting = undefined
    }
  }
  // Statements wait here: pg warns of more than one that waits in its own queue. A cursor is its own result.
  client.query = (text, ...others) => {
    if (isSet || isSubmittable(text)) return query(text, ...others)
    setting ??= set()
    const done = others.at(-1)
    return setting.then(
      () => query(text, ...others),
      (error: unknown) => {
        if (typeof done !== 'function') throw error
        // Who passes a callback ignores the promise, and would wait for ever.
        done(error)
      },
    )
  }
}

function isSubmittable(text: unknown): boolean {
  return typeof Object(text).submit === 'function'
}
