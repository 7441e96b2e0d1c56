import { extname } from 'node:path'
import type { ListFormat } from '../../resource'
import { CommandError } from '../command-error'
import { exportToFile, exportToOutput } from './export'
import { importInParts, importWhole } from './import'
import { report } from './progress'
import { connect } from './service'

/** Options of the commands `export` and `import`. */
interface TransferOptions {
  readonly url?: string | undefined
  readonly format?: string | undefined
  readonly query?: string | undefined
  readonly omit?: string | undefined
  readonly 'dry-run'?: boolean | undefined
  readonly 'on-conflict'?: string | undefined
  readonly 'batch-size'?: string | undefined
}

/** Name of the file for the standard input or output. */
const standard = '-'

/** Exports the records of a resource to a file, or imports them. @throws {CommandError} */
export async function transfer(
  command: 'export' | 'import',
  resource: string,
  file: string,
  options: TransferOptions,
): Promise<void> {
  const format = formatOf(file, options.format)
  const url = urlOf(resource, options)
  const batchSize = options['batch-size'] === undefined ? undefined : batchSizeOf(file, options['batch-size'])
  const interruption = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => interruption.abort())
  const { signal } = interruption
  const service = await connect(signal)
  const run = async (): Promise<string | undefined> => {
    if (command === 'export') {
      const transfer = { service, url, format, signal }
      return file === standard ? exportToOutput(transfer) : exportToFile(transfer, file)
    }
    const omit = new Set(options.omit?.split(',').map((name) => name.trim()))
    const transfer = { service, url, format, signal, omit, isDry: options['dry-run'] === true }
    if (batchSize !== undefined) return importInParts(transfer, file, batchSize)
    return importWhole(transfer, file === standard ? undefined : file)
  }
  try {
    const message = await run()
    if (message !== undefined) report(message)
  } finally {
    // Closes a response that was not read to its end, which would keep the process running.
    interruption.abort()
  }
}

function formatOf(file: string, given: string | undefined): ListFormat {
  const format = given ?? extname(file).slice(1).toLowerCase()
  if (format === 'csv' || format === 'ndjson') return format
  const problem =
    given === undefined ? `The name of ${file} does not say the format` : `The format "${given}" is not supported`
  throw new CommandError(`${problem}: use the extension .csv or .ndjson, or --format csv or --format ndjson`, 2)
}

/** URL of the resource with the parameters of the command. */
function urlOf(resource: string, options: TransferOptions): URL {
  if (options.url === undefined) {
    throw new CommandError('--url is missing: the URL of the mount, for example --url http://localhost:3000/api', 2)
  }
  const base = URL.canParse(options.url) ? new URL(options.url) : undefined
  if (base === undefined || !/^https?:$/.test(base.protocol) || base.search !== '' || base.hash !== '') {
    throw new CommandError('--url must be the URL of the mount, for example http://localhost:3000/api', 2)
  }
  if (base.username !== '' || base.password !== '') {
    throw new CommandError(
      '--url must not contain credentials, which other users of the machine could see: set TYPEORM_RESOURCES_USERNAME and TYPEORM_RESOURCES_PASSWORD',
      2,
    )
  }
  const url = new URL(`${base.href.replace(/\/+$/, '')}/${encodeURIComponent(resource)}/`)
  url.search = options.query ?? ''
  if (options['on-conflict'] !== undefined) url.searchParams.set('on_conflict', options['on-conflict'])
  return url
}

function batchSizeOf(file: string, text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new CommandError('--batch-size must be a number from 1', 2)
  if (file === standard)
    throw new CommandError('--batch-size needs a file, because the progress is stored beside it', 2)
  return Number(text)
}
