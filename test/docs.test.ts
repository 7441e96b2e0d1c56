import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { refusals } from '../src/errors'
import { defaultLimits } from '../src/request/limits'
import { accountOptionNames, apiKeyOptionNames, resourceOptionNames } from '../src/schema/registration'
import { freePort, send } from './client'
import { type Command, programsOf, read, root } from './documents'
import { documentedRows } from './http/types/document'
import { mariadbTypes } from './http/types/mariadb'
import { postgresTypes } from './http/types/postgres'
import { sqliteTypes } from './http/types/sqlite'
import { differences } from './tables/differences'
import { keysOfTwo } from './tables/keys'
import { toManyFilters } from './tables/relations'

const pages = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', ...markdownIn('docs')]

function markdownIn(folder: string): readonly string[] {
  const files = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
  return files.filter((file) => file.endsWith('.md')).map((file) => join(folder, file))
}

/** The pages with their programs; files that other files import are not programs. */
const all = pages.map((page, index) => [page, index, programsOf(page)] as const)
const programs = all.flatMap(([page, index, files]) =>
  files
    .filter(({ text, commands }) => text !== '' && commands.length > 0)
    .map((program) => [page, program.name, program, index] as const),
)
const aboutSample = all.flatMap(([page, , files]) => {
  const commands = files.filter(({ text }) => text === '').flatMap((program) => program.commands)
  return commands.length > 0 ? [[page, commands] as const] : []
})

/** Whether a page declares properties of principals, which would apply to all programs that are compiled together. */
const isDeclaring = ([, , files]: (typeof all)[number]): boolean =>
  files.some(({ text }) => text.includes("declare module 'typeorm-resources'"))

/** Directory inside the project, so that programs can import the package by its name. */
const folder = join(root, 'test', '.docs')
const data = mkdtempSync(join(tmpdir(), 'docs-'))
const running: ChildProcess[] = []

beforeAll(() => {
  rmSync(folder, { recursive: true, force: true })
  for (const [, index, files] of all) {
    mkdirSync(join(folder, 'src', String(index)), { recursive: true })
    for (const { name, text } of files.filter((file) => file.text !== '')) {
      const program = text.replace('listen(3000,', "listen(Number(process.env['PORT']),")
      writeFileSync(join(folder, 'src', String(index), `${name}.mts`), program)
    }
  }
  const compilerOptions = {
    noEmit: false,
    rootDir: 'src',
    outDir: 'out',
    types: ['node'],
    paths: {},
    noUnusedLocals: false,
  }
  const compile = (name: string, pages: readonly number[]): void => {
    const include = pages.map((index) => `src/${index}/*.mts`)
    writeFileSync(join(folder, name), JSON.stringify({ extends: '../../tsconfig.json', compilerOptions, include }))
    execFileSync('npx', ['tsc', '-p', join(folder, name)], { cwd: root, stdio: 'inherit' })
  }
  const indexesOf = (entries: typeof all): readonly number[] => entries.map(([, index]) => index)
  const [together, apart] = [false, true].map((value) => indexesOf(all.filter((entry) => isDeclaring(entry) === value)))
  compile('tsconfig.json', together ?? [])
  for (const index of apart ?? []) compile(`tsconfig.${index}.json`, [index])
})
afterEach(() => {
  for (const child of running.splice(0)) child.kill()
})
afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
  rmSync(data, { recursive: true, force: true })
})

/** Starts a server and waits until it responds. */
async function serve(script: string): Promise<number> {
  const port = await freePort()
  const env = { ...process.env, PORT: String(port), DATABASE: join(data, 'world.sqlite'), DATABASE_URL: '' }
  const child = spawn(process.execPath, [script], { env, stdio: ['ignore', 'ignore', 'inherit'] })
  running.push(child)
  for (let attempt = 0; attempt < 300 && child.exitCode === null; attempt++) {
    const answers = await send(`http://127.0.0.1:${port}`, 'GET /').then(
      ({ status }) => status !== 503,
      () => false,
    )
    if (answers) return port
    await new Promise((wake) => setTimeout(wake, 100))
  }
  throw new Error(`${script} does not answer`)
}

function checkCommands(commands: readonly Command[], port: number, program = ''): void {
  for (const { line, expected } of commands) {
    const command = line.replaceAll(':3000', `:${port}`).replace(` ${basename(program)}`, ` ${program}`)
    // The messages of our command are on the standard error.
    const ours = `{ ${command.replaceAll('npx typeorm-resources', `node ${join(root, 'dist/cli/main.js')}`)}; } 2>&1`
    const printed = execFileSync('sh', ['-c', line.includes('npx typeorm-resources') ? ours : command], {
      cwd: data,
      encoding: 'utf8',
      stdio: 'pipe',
    })
    const pattern = expected
      .split('…')
      .map((text) => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
      .join('[^]*?')
    expect({ line, printed: printed.replaceAll('\r', '').trim() }).toEqual({
      line,
      printed: expect.stringMatching(`^${pattern}$`),
    })
  }
}

test.each(programs)(
  '%s: the commands after the program %s print the documented output',
  async (_page, _name, { name, text, commands }, index) => {
    const program = join(folder, 'out', String(index), `${name}.mjs`)
    checkCommands(commands, text.includes('listen(3000,') ? await serve(program) : 0, program)
  },
)

test.each(aboutSample)('the commands on the sample in %s print the documented output', async (page, commands) => {
  const script = page === 'docs/explanations/tracker.md' ? 'tracker/main.js' : 'main.js'
  checkCommands(commands, await serve(join(root, 'sample/dist', script)))
})

/** Excerpts of files in the documentation, each with the name of the file; `…` stands for omitted parts. */
const excerpts = pages.flatMap((page) =>
  [...read(page).matchAll(/^<!-- (\S+) -->\n\n```tsx\n(.*?)^```/gms)].map(([, file = '', text = '']) => ({
    page,
    file,
    text,
  })),
)

test.each(excerpts)('$page shows the current text of $file', ({ file, text }) => {
  let rest = read(file)
  for (const part of text.split(/^…\n/m).filter((part) => part !== '')) {
    expect(rest).toContain(part)
    rest = rest.slice(rest.indexOf(part) + part.length)
  }
})

test.each(pages)('every block of TypeScript in %s has a file name or belongs to a program', (page) => {
  const snippets = [...read(page).matchAll(/^```tsx$/gm)]
  expect(excerpts.filter((excerpt) => excerpt.page === page)).toHaveLength(snippets.length)
})

/** Packages that a page imports in its programs, and those that its `npm install` lines before the first program install. */
function packagesOf(page: string): { readonly imported: readonly string[]; readonly installed: readonly string[] } {
  const [before = ''] = read(page).split(/^```(?:tsx?|typescript|console)$/m)
  const lines = [...before.matchAll(/^ {4}npm install (.*)$/gm)].map(([, names = '']) => names)
  const installed = lines
    .flatMap((line) => line.split(' '))
    .filter((name) => !name.startsWith('--'))
    .map((name) => name.replace(/(?<=.)@.*/, ''))
  const programs = [...read(page).matchAll(/^```(?:tsx?|typescript)\n(.*?)^```/gms)].map(([, text = '']) => text)
  const names = programs.flatMap((text) => [...text.matchAll(/^(?:import|\} from|.* from) '([^.'][^']*)'$/gm)])
  const imported = names.map(([, name = '']) => name).filter((name) => !name.startsWith('node:'))
  return { imported: [...new Set(imported.map(packageOf))], installed }
}
const packageOf = (module: string): string => /^(?:@[^/]+\/)?[^/]+/.exec(module)?.[0] ?? module
const typesOf = (name: string): string => `@types/${name.replace(/^@(.+)\//, '$1__')}`

test.each(markdownIn('docs/how-to'))('%s starts with the commands that install what its programs import', (page) => {
  const { imported, installed } = packagesOf(page)
  // The examples of the front ends are in the project of the service.
  const all = installed.includes('typeorm-resources-client') ? [...installed, 'typeorm-resources'] : installed
  const types = imported.filter((name) => name !== 'koa' && existsSync(join(root, 'node_modules', typesOf(name))))
  expect(installed.length + Number(page.endsWith('screens.md'))).toBeGreaterThan(0)
  expect([...imported, ...types.map(typesOf)].filter((name) => !all.includes(name))).toEqual([])
})

test.each(pages)('the links of %s are valid', (page) => {
  const links = [...read(page).matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)].map(([, link = '']) => link)
  expect(links.filter((link) => !existsSync(join(root, dirname(page), link)))).toEqual([])
})

/** The anchors of the headings of a page, as GitHub and npm generate them. */
function anchorsOf(page: string): readonly string[] {
  const text = read(page).replace(/^```.*?^```/gms, '')
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

test.each(pages)('the links of %s to headings are valid', (page) => {
  const text = read(page).replace(/^```.*?^```/gms, '')
  const links = [...text.matchAll(/(?:\]\(|^\[[^\]]+\]: )([^)#:\s]*)#([^)\s]+)/gm)]
  const missing = links.filter(([, file = '', anchor = '']) => {
    const target = file === '' ? page : join(dirname(page), file)
    return !existsSync(join(root, target)) || !anchorsOf(target).includes(anchor)
  })
  expect(missing.map(([link]) => link)).toEqual([])
})

test('the table of errors is the same as in the code', () => {
  const rows = [...read('docs/reference/errors.md').matchAll(/^\| `([a-z-]+)` +\| (\d+) +\| ([^|]+?) +\|/gm)]
  const documented = rows.map(([, code, status, title]) => [code, Number(status), title])
  const defined = Object.entries(refusals).map(([code, { status, title }]) => [code, status, title])
  expect(documented).toEqual([...defined, ['internal-error', 500, 'Internal server error']])
})

test('the page about set-up has a row for every option of a decorator', () => {
  const rows = read('docs/reference/set-up.md').match(/^\| `.*/gm) ?? []
  const { entity: _, ...names } = { ...resourceOptionNames, ...accountOptionNames, ...apiKeyOptionNames }
  const missing = Object.keys(names).filter((name) => !rows.some((row) => row.split(' | ')[0]?.includes(`\`${name}\``)))
  expect(missing).toEqual([])
})

test('the table of limits contains every limit of the code', () => {
  const text = read('docs/reference/limits.md')
  for (const [name, limit] of Object.entries(defaultLimits)) {
    const isDocumented = new RegExp(`(^| )${limit.toLocaleString('en')}( |,|$)`, 'm').test(text)
    expect({ name, isDocumented }).toEqual({ name, isDocumented: true })
  }
})

/** Names of databases by the names of TypeORM's drivers. */
const databases: Readonly<Record<string, string>> = {
  'better-sqlite3': 'SQLite',
  sqlite: 'SQLite',
  postgres: 'PostgreSQL',
  mariadb: 'MariaDB',
  mysql: 'MariaDB as MySQL',
}
/** npm packages of drivers whose names differ from those of the packages. */
const packages: Readonly<Record<string, string>> = {
  sqlite: 'sqlite3',
  postgres: 'pg',
  mariadb: 'mysql2',
  mysql: 'mysql2',
}

const legs: readonly { readonly name: string; readonly driver: string }[] = require('./legs')
const code = (text: string): string => `\`${text}\``

/** Tables of the documentation that tests use as data: page, module of the tests, rows. */
const tables: readonly (readonly [page: string, source: string, rows: readonly (readonly string[])[]])[] = [
  [
    'docs/reference/databases.md',
    'test/legs.js',
    legs.map(({ name, driver }) => [databases[driver] ?? driver, name.slice(0, 3), code(packages[driver] ?? driver)]),
  ],
  [
    'docs/reference/databases.md',
    'test/tables/differences.ts',
    Object.values(differences).map(({ what, sqlite, postgres, mariadb }) => [what, sqlite, postgres, mariadb]),
  ],
  ['docs/reference/types.md', 'test/http/types/sqlite.ts', documentedRows(sqliteTypes)],
  ['docs/reference/types.md', 'test/http/types/postgres.ts', documentedRows(postgresTypes)],
  ['docs/reference/types.md', 'test/http/types/mariadb.ts', documentedRows(mariadbTypes)],
  ['docs/reference/keys.md', 'test/tables/keys.ts', keysOfTwo.map((row) => row.map(code))],
  [
    'docs/reference/relations.md',
    'test/tables/relations.ts',
    toManyFilters.flatMap(([query, , finds]) => (finds === undefined ? [] : [[code(query), finds]])),
  ],
]

test.each(tables)('a table of %s is the same as that of %s', (page, source, rows) => {
  const [, table = ''] = read(page).split(`<!-- ${source} -->`)
  const [lines = ''] = table.trim().split('\n\n')
  const shown = lines.split('\n').slice(2)
  expect(
    shown.map((line) =>
      line
        .slice(1, -1)
        .split(' | ')
        .map((cell) => cell.trim()),
    ),
  ).toEqual(rows)
})
