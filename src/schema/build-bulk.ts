import type { Report } from '../errors'
import type { ResourceOptions } from '../resource'

/** Maximum number of records of a bulk write, unless the option sets another one. */
const defaultMaxRecords = 1000

/**
 * Checks the option `bulk`.
 * @returns the maximum number of records of one request; 0 if each record is written by a request of its own
 */
export function buildBulk({ bulk = false }: ResourceOptions, isApiKey: boolean, report: Report): number {
  const max = typeof bulk === 'boolean' ? Number(bulk) * defaultMaxRecords : bulk
  if (!Number.isSafeInteger(max) || max < 0 || (max === 0 && bulk !== false)) {
    report(`"bulk" must be true, false or an integer from 1, not ${JSON.stringify(bulk)}`)
    return 0
  }
  if (max > 0 && isApiKey) report('"bulk" is not possible for API keys: each response shows one key')
  return max
}
