import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

let collect: (() => void) | undefined

/** Number of used bytes on the heap, after garbage collection. */
export function heapInUse(): number {
  setFlagsFromString('--expose-gc')
  collect ??= runInNewContext('gc') as () => void
  collect()
  return process.memoryUsage().heapUsed
}
