#!/usr/bin/env node
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { DataSource } from 'typeorm'
import { ConfigError } from '../errors'
import { describeAccess, describeDataSource } from '../site/describe'
import type { MountOptions } from '../site/mount-options'
import { CommandError, loadDataSource, loadOptions } from './load'

const usage = `Usage: typeorm-resources <command> <data-source> [options]

Prints a description of a data source's resources. It does not connect to the database.

  openapi               prints the OpenAPI 3.1 document
  access                prints a table of who may read and write what

  <data-source>         a file that exports a DataSource, for example ./data-source.ts
  --options <file>      a file whose default export is the options of mountResources
  -o, --output <file>   writes the description to this file
  --check <file>        fails if the description differs from this file
  -h, --help            prints this help
  -v, --version         prints the version
`

async function main(): Promise<void> {
  const { values, positionals } = parse()
  if (values.help) return void process.stdout.write(usage)
  if (values.version) return void process.stdout.write(`${version()}\n`)
  const [command, file, ...others] = positionals
  if (command === undefined) throw new CommandError(`The command is missing\n\n${usage}`, 2)
  const describe = isCommand(command) ? commands[command] : undefined
  if (describe === undefined) {
    throw new CommandError(`Unknown command "${command}"; commands: ${Object.keys(commands).join(', ')}\n\n${usage}`, 2)
  }
  if (file === undefined) throw new CommandError(`The file of the data source is missing\n\n${usage}`, 2)
  if (others.length > 0) throw new CommandError(`Unexpected argument "${others[0]}"\n\n${usage}`, 2)
  const dataSource = await loadDataSource(file)
  const options = values.options === undefined ? {} : await loadOptions(values.options)
  const text = await describe(dataSource, options).finally(async () => {
    // The file may export a connected data source, whose connections would keep the process running.
    if (dataSource.isInitialized) await dataSource.destroy()
  })
  if (values.check !== undefined) check(values.check, text)
  else if (values.output === undefined) print(text)
  else write(values.output, text)
}

type Describe = (dataSource: DataSource, options: MountOptions) => Promise<string>

const commands: Readonly<Record<'openapi' | 'access', Describe>> = {
  openapi: async (dataSource, options) => {
    const document = JSON.parse(await describeDataSource(dataSource, options))
    return `${JSON.stringify(document, null, 2)}\n`
  },
  access: describeAccess,
}

const isCommand = (name: string): name is keyof typeof commands => Object.hasOwn(commands, name)

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

function parse() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        options: { type: 'string' },
        output: { type: 'string', short: 'o' },
        check: { type: 'string' },
        help: { type: 'boolean', short: 'h' },
        version: { type: 'boolean', short: 'v' },
      },
    })
  } catch (error) {
    throw new CommandError(`${messageOf(error)}\n\n${usage}`, 2)
  }
}

function version(): string {
  return JSON.parse(readFileSync(join(__dirname, '..', '..', 'package.json'), 'utf8')).version
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

main().catch((error: unknown) => {
  const isExpected = error instanceof CommandError || error instanceof ConfigError
  process.stderr.write(`${isExpected ? error.message : error instanceof Error ? error.stack : String(error)}\n`)
  process.exitCode = error instanceof CommandError ? error.code : 1
})
