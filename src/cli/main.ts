#!/usr/bin/env node
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { DataSource } from 'typeorm'
import { ConfigError } from '../errors'
import { describeDataSource } from '../site/describe'
import type { MountOptions } from '../site/mount-options'
import { CommandError, loadDataSource, loadOptions } from './load'

const usage = `Usage: typeorm-resources openapi <data-source> [options]

Prints the OpenAPI 3.1 document of a data source's resources. It does not connect to the database.

  <data-source>         a file that exports a DataSource, for example ./data-source.ts
  --options <file>      a file whose default export is the options of mountResources
  -o, --output <file>   writes the document to this file
  -h, --help            prints this help
  -v, --version         prints the version
`

async function main(): Promise<void> {
  const { values, positionals } = parse()
  if (values.help) return void process.stdout.write(usage)
  if (values.version) return void process.stdout.write(`${version()}\n`)
  const [command, file, ...others] = positionals
  if (command === undefined) throw new CommandError(`The command is missing\n\n${usage}`, 2)
  if (command !== 'openapi') throw new CommandError(`Unknown command "${command}"; commands: openapi\n\n${usage}`, 2)
  if (file === undefined) throw new CommandError(`The file of the data source is missing\n\n${usage}`, 2)
  if (others.length > 0) throw new CommandError(`Unexpected argument "${others[0]}"\n\n${usage}`, 2)
  const dataSource = await loadDataSource(file)
  const options = values.options === undefined ? {} : await loadOptions(values.options)
  const document = JSON.parse(await describe(dataSource, options))
  const text = `${JSON.stringify(document, null, 2)}\n`
  if (values.output === undefined) print(text)
  else write(values.output, text)
}

/**
 * Renders the document. The file may export a connected data source; its connections are closed, or the process would
 * not exit.
 */
async function describe(dataSource: DataSource, options: MountOptions): Promise<string> {
  try {
    return await describeDataSource(dataSource, options)
  } finally {
    if (dataSource.isInitialized) await dataSource.destroy()
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
