import { readFileSync, writeFileSync } from 'node:fs'
import type { DataSource } from 'typeorm'
import { describeAccess, describeDataSource } from '../site/describe'
import type { MountOptions } from '../site/mount-options'
import { CommandError, messageOf } from './command-error'
import { loadDataSource, loadOptions } from './load'

/** Options of the commands that describe a data source. */
interface DescribeOptions {
  readonly options?: string | undefined
  readonly output?: string | undefined
  readonly check?: string | undefined
}

type Describe = (dataSource: DataSource, options: MountOptions) => Promise<string>

/** The commands that describe a data source, by their names. */
export const descriptions: Readonly<Record<'openapi' | 'access', Describe>> = {
  openapi: async (dataSource, options) => {
    const document = JSON.parse(await describeDataSource(dataSource, options))
    return `${JSON.stringify(document, null, 2)}\n`
  },
  access: describeAccess,
}

/** Prints, writes or checks the description of a data source. @throws {CommandError} */
export async function describe(
  command: keyof typeof descriptions,
  file: string,
  values: DescribeOptions,
): Promise<void> {
  const dataSource = await loadDataSource(file)
  const options = values.options === undefined ? {} : await loadOptions(values.options)
  const text = await descriptions[command](dataSource, options).finally(async () => {
    // The file may export a connected data source, whose connections would keep the process running.
    if (dataSource.isInitialized) await dataSource.destroy()
  })
  if (values.check !== undefined) check(values.check, text)
  else if (values.output === undefined) print(text)
  else write(values.output, text)
}

/** @throws {CommandError} if a file does not have this text; the message has the lines that differ */
function check(file: string, text: string): void {
  const expected = read(file)
  if (expected === text) return
  const [before, after] = [expected.split('\n'), text.split('\n')]
  const removed = before.filter((line) => !after.includes(line)).map((line) => `- ${line}`)
  const added = after.filter((line) => !before.includes(line)).map((line) => `+ ${line}`)
  throw new CommandError([`${file} differs from the description:`, ...removed, ...added].join('\n'), 1)
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new CommandError(`${file} cannot be read: ${messageOf(error)}`, 1)
  }
}

function print(text: string): void {
  process.stdout.on('error', (error) => {
    // The reader has closed the pipe, for example `head`.
    if ('code' in error && error.code === 'EPIPE') return
    process.stderr.write(`The document cannot be printed: ${error.message}\n`)
    process.exitCode = 1
  })
  process.stdout.write(text)
}

function write(file: string, text: string): void {
  try {
    writeFileSync(file, text)
  } catch (error) {
    throw new CommandError(`${file} cannot be written: ${messageOf(error)}`, 1)
  }
}
