#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ConfigError } from '../errors'
import { CommandError, messageOf } from './command-error'

const synopsis = `Usage: typeorm-resources openapi|access <data-source> [options]
       typeorm-resources export|import <resource> <file> --url <url> [options]
`

const help = `${synopsis}
Descriptions of a data source's resources. The command does not connect to the database.

  openapi                 prints the OpenAPI 3.1 document
  access                  prints a table of who may read and write what

  <data-source>           a file that exports only a DataSource, for example ./data-source.js
  --options <file>        a file whose default export is the options of mountResources; without it, the description is
                          that of a service without options
  -o, --output <file>     writes the description to this file
  --check <file>          fails if the description differs from this file

Records of a running service. Run an interrupted command again to continue it.

  export                  writes the records of a resource to a file
  import                  creates the records of a file, all or none

  <resource>              the name of the resource in paths, for example city
  <file>                  a file with the extension .csv or .ndjson; - for the standard input or output
  --url <url>             the URL of the mount, for example http://localhost:3000/api
  --format csv|ndjson     the format, if the extension does not say it
  --query <text>          export: parameters of the list, for example 'region=Europe&fields=name'
  --omit <fields>         import: leaves out these fields of the file, for example generated keys: --omit id
  --dry-run               import: checks the records, and writes nothing
  --on-conflict <fields>  import: updates a record that has the same values in these fields
  --batch-size <number>   import: sends so many records at a time, each time all or none

  The credentials are the environment variables TYPEORM_RESOURCES_USERNAME and TYPEORM_RESOURCES_PASSWORD,
  or TYPEORM_RESOURCES_TOKEN, or TYPEORM_RESOURCES_API_KEY.

  -h, --help              prints this help
  -v, --version           prints the version
`

const commands = {
  openapi: { arguments: ['file of the data source'], options: ['options', 'output', 'check'] },
  access: { arguments: ['file of the data source'], options: ['options', 'output', 'check'] },
  export: { arguments: ['name of the resource', 'file'], options: ['url', 'format', 'query'] },
  import: {
    arguments: ['name of the resource', 'file'],
    options: ['url', 'format', 'omit', 'dry-run', 'on-conflict', 'batch-size'],
  },
} as const satisfies Readonly<Record<string, object>>

async function main(): Promise<void> {
  const { values, positionals } = parse()
  if (values.help) return void process.stdout.write(help)
  if (values.version) return void process.stdout.write(`${version()}\n`)
  const [command, ...given] = positionals
  if (command === undefined) throw wrongUsage('The command is missing')
  if (!isCommand(command)) {
    throw wrongUsage(`Unknown command "${command}"; commands: ${Object.keys(commands).join(', ')}`)
  }
  const { arguments: expected, options } = commands[command]
  if (given.length < expected.length) throw wrongUsage(`The ${expected[given.length]} is missing`)
  if (given.length > expected.length) throw wrongUsage(`Unexpected argument "${given[expected.length]}"`)
  const unknown = Object.keys(values).find((name) => !new Set<string>(options).has(name))
  if (unknown !== undefined) {
    throw wrongUsage(`${command} has no option --${unknown}; options: ${options.map((name) => `--${name}`).join(', ')}`)
  }
  const [first = '', file = ''] = given
  if (command === 'export' || command === 'import') {
    const { transfer } = await import('./transfer/transfer.ts')
    return transfer(command, first, file, values)
  }
  // Loads TypeORM, which takes longer than an export of a small list.
  const { describe } = await import('./describe.ts')
  return describe(command, first, values)
}

const isCommand = (name: string): name is keyof typeof commands => Object.hasOwn(commands, name)

// The complete help would move the message out of a small terminal.
const wrongUsage = (message: string): CommandError =>
  new CommandError(`${message}\n\n${synopsis}       typeorm-resources --help`, 2)

function parse() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        options: { type: 'string' },
        output: { type: 'string', short: 'o' },
        check: { type: 'string' },
        url: { type: 'string' },
        format: { type: 'string' },
        query: { type: 'string' },
        omit: { type: 'string' },
        'dry-run': { type: 'boolean' },
        'on-conflict': { type: 'string' },
        'batch-size': { type: 'string' },
        help: { type: 'boolean', short: 'h' },
        version: { type: 'boolean', short: 'v' },
      },
    })
  } catch (error) {
    // Node.js adds advice about arguments that begin with a hyphen, which no argument does.
    throw wrongUsage(messageOf(error).split('. To specify', 1).join())
  }
}

function version(): string {
  return JSON.parse(readFileSync(join(__dirname, '..', '..', 'package.json'), 'utf8')).version
}

main().catch((error: unknown) => {
  const isExpected = error instanceof CommandError || error instanceof ConfigError
  process.stderr.write(`${isExpected ? error.message : error instanceof Error ? error.stack : String(error)}\n`)
  process.exitCode = error instanceof CommandError ? error.code : 1
})
