import { unavailable } from '../errors'
import { ChangedError } from '../write/changed-error'

/** Maximum number of attempts to write a record that other requests change at the same time. */
const maxAttempts = 5

/**
 * Runs `work` again if a record has changed after it was read.
 * @param work gets the number of earlier attempts
 * @throws {ApiError} `unavailable` after too many attempts
 */
export async function repeatIfChanged<T>(work: (attempt: number) => Promise<T>): Promise<T> {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    try {
      return await work(attempt)
    } catch (error) {
      if (!(error instanceof ChangedError)) throw error
    }
  }
  throw unavailable('other requests have changed the record during each attempt to update it; try again')
}
