import { hash } from 'node:crypto'
import type { OpenCursor } from '../row-cursor'
import { withComment } from '../statement-comment'

/**
 * Opens a cursor of the server. Each FETCH is a statement of its own with the time limit of statements; between them a
 * slow client holds the transaction, but no rows.
 */
export const openPostgresCursor: OpenCursor = async (runner, sql, parameters, { rows }) => {
  // Statements are prepared by their text, with the columns of their result. The name makes the text of FETCH different
  // for each SELECT.
  const name = `"tr_${hash('sha256', sql, 'hex').slice(0, 40)}"`
  await runner.query(`DECLARE ${name} NO SCROLL CURSOR FOR ${sql}`, parameters)
  const fetch = withComment(`FETCH FORWARD ${rows} FROM ${name}`)
  let isDone = false
  return {
    next: async () => {
      if (isDone) return []
      const { records } = await runner.query(fetch, [], true)
      isDone = records.length < rows
      return records
    },
    // The end of the transaction closes the cursor.
    close: async () => undefined,
  }
}
