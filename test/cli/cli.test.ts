import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { entities } from '../../sample/entities'
import { send } from '../client'
import { openWorld } from '../world/world'

/** The command as packages install it. */

interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

const { version } = JSON.parse(readFileSync(resolve(__dirname, '../../package.json'), 'utf8'))
const command = resolve(__dirname, '../../dist/cli/main.js')
const run = (...words: readonly string[]): Promise<Ended> =>
  new Promise((done) => {
    execFile('node', [command, ...words], { cwd: __dirname, maxBuffer: 2 ** 26 }, (error, stdout, stderr) => {
      done({ code: error === null ? 0 : Number(error.code), stdout, stderr })
    })
  })

const cases: readonly (readonly [string, number, string])[] = [
  ['', 2, 'The command is missing\n\nUsage: typeorm-resources openapi|access <data-source>'],
  ['swagger', 2, 'Unknown command "swagger"; commands: openapi, access, export, import\n\nUsage:'],
  ['openapi', 2, 'The file of the data source is missing\n\nUsage:'],
  ['openapi data-source.js more', 2, 'Unexpected argument "more"\n\nUsage:'],
  ['openapi --colour', 2, "Unknown option '--colour'\n\nUsage:"],
  ['openapi nothing.js', 1, 'There is no file nothing.js'],
  ['openapi options.js', 1, 'options.js does not export a DataSource of TypeORM'],
  ['openapi two.js', 1, 'two.js exports 2 DataSources; it must export one'],
  ['openapi data-source.js --options nothing.js', 1, 'There is no file nothing.js'],
  ['openapi data-source.js --options wrong-options.js', 1, 'unknown option "prefx"'],
  ['access data-source.js --check nothing.txt', 1, 'nothing.txt cannot be read'],
  ['openapi data-source.js -o no/such/folder.json', 1, 'no/such/folder.json cannot be written'],
]
test.each(cases)('typeorm-resources %s exits with code %i', async (line, code, message) => {
  const ended = await run(...line.split(' ').filter(Boolean))
  expect(ended).toEqual({ code, stdout: '', stderr: expect.stringContaining(message) })
  // The message must not scroll out of a small terminal.
  expect(ended.stderr.split('\n').length).toBeLessThan(9)
  // Mistakes of the user are reported without a stack.
  expect(ended.stderr).not.toMatch(/^ +at /m)
})

test.each(['-h', '--help', 'openapi --help'])('%s prints the usage', async (line) => {
  const ended = await run(...line.split(' '))
  expect(ended).toEqual({ code: 0, stdout: expect.stringMatching(/^Usage: .*--output.*\n$/s), stderr: '' })
})

test.each(['-v', '--version'])('%s prints the version', async (line) => {
  expect(await run(line)).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' })
})

test.each(['data-source.js', 'later.mjs'])(
  'the OpenAPI document of %s is the same as that of a mount',
  async (file) => {
    const { code, stdout, stderr } = await run('openapi', file)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const world = await openWorld({ entities })
    const served = (await send(world.url, 'GET /api/openapi.json')).json()
    await world.close()
    expect(JSON.parse(stdout)).toEqual(served)
  },
)

const accessTable = [
  'resource  action        rule                  condition',
  'invoice   read          user                  scope: (me) => ({ company: me.id })',
  "invoice   create        user                  scope: (me) => ({ company: me.id }); may: isManager; preset: () => ({ status: 'draft' })",
  "invoice   update        user                  scope: (me) => ({ company: me.id }); may: { before: { status: 'draft' } }",
  'invoice   delete        user                  scope: (me) => ({ company: me.id }); may: false',
  'invoice   read amount                         isManager',
  'invoice   write amount                        isManager',
  'invoice   write status                        false',
  'line      read          read-only             scope: through invoice',
  'note      read          user, public reading',
  'note      create        user, public reading',
  'note      update        user, public reading  owner: user',
  'note      delete        user, public reading  owner: user',
  '',
].join('\n')

test('the table of who may do what contains rules, scopes, permissions and owners', async () => {
  expect(await run('access', 'permissions.js')).toEqual({ code: 0, stdout: accessTable, stderr: '' })
})

test('--check fails if the description has changed, and shows the lines', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'access-'))
  const file = join(folder, 'access.txt')
  writeFileSync(file, accessTable)
  expect(await run('access', 'permissions.js', '--check', file)).toEqual({ code: 0, stdout: '', stderr: '' })
  writeFileSync(file, accessTable.replace('may: false', 'may: isManager'))
  const { code, stderr } = await run('access', 'permissions.js', '--check', file)
  expect([code, stderr.split('\n').slice(1, 3)]).toEqual([
    1,
    [
      '- invoice   delete        user                  scope: (me) => ({ company: me.id }); may: isManager',
      '+ invoice   delete        user                  scope: (me) => ({ company: me.id }); may: false',
    ],
  ])
  rmSync(folder, { recursive: true })
})

test('closing the pipe before the whole document is written is no error', async () => {
  const ended = await new Promise((done) => {
    const line = `{ node ${command} openapi data-source.js; echo "ended with $?" >&2; } | head -c 1`
    execFile('sh', ['-c', line], { cwd: __dirname }, (error, stdout, stderr) =>
      done({ code: error?.code ?? 0, stdout, stderr }),
    )
  })
  expect(ended).toEqual({ code: 0, stdout: '{', stderr: 'ended with 0\n' })
})

test('a data source that is already initialized is destroyed, so that the process ends', async () => {
  const { code, stderr } = await run('openapi', 'connected.js')
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
})

test('the options of a mount are accepted, and the document is written to the given file', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'resources-'))
  const output = join(folder, 'openapi.json')
  expect(await run('openapi', 'data-source.js', '--options', 'options.js', '-o', output)).toEqual({
    code: 0,
    stdout: '',
    stderr: '',
  })
  const text = readFileSync(output, 'utf8')
  rmSync(folder, { recursive: true })
  expect(JSON.parse(text)).toMatchObject({ servers: [{ url: '/v1' }], info: { title: 'Places', version: '2.0.0' } })
  expect(text.endsWith('}\n')).toBe(true)
})

test('without a TypeScript compiler the message says what to install', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'resources-'))
  writeFileSync(join(folder, 'data-source.ts'), 'export const dataSource: unknown = 1\n')
  const ended = await run('openapi', join(folder, 'data-source.ts'))
  rmSync(folder, { recursive: true })
  expect(ended).toMatchObject({ code: 1, stderr: expect.stringContaining('compile it with tsc') })
})
