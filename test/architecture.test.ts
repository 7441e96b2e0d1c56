import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'

/** The rows of the table in docs/architecture.md, from top to bottom: a file imports only from its own row or from a row above. */
const rows: readonly (readonly string[])[] = [
  ['errors.ts', 'emit-error.ts', 'problem.ts', 'diagnostics.ts', 'timers.ts', 'option-mistakes.ts', 'shared-state.ts'],
  ['value'],
  ['access'],
  ['resource.ts', 'filter-types.ts'],
  ['schema'],
  ['request'],
  ['query'],
  ['dialect'],
  ['connection', 'sqlite-lock'],
  ['read'],
  ['write'],
  ['response', 'live'],
  ['openapi'],
  ['pipeline'],
  ['site'],
  // The code of clients, which runs in other programs: it imports nothing of the service.
  ['client'],
  ['index.ts', 'cli'],
  ['admin'],
]

const source = resolve(__dirname, '../src')
const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))

const rowOf = (file: string): number => rows.findIndex((row) => row.includes(file.split('/')[0] ?? ''))

interface Import {
  readonly from: string
  readonly typeOnly: boolean
}

const importsOf = (file: string): readonly Import[] => {
  const text = readFileSync(join(source, file), 'utf8')
  return [...text.matchAll(/^(?:import|export)\s(type\s)?[^'";]*?from '([^']+)'/gm)].map(([, type, from = '']) => ({
    from,
    typeOnly: type !== undefined,
  }))
}

const ownImports = (file: string): readonly string[] =>
  importsOf(file)
    .filter(({ from }) => from.startsWith('.'))
    .map(({ from }) => `${relative(source, resolve(source, dirname(file), from.replace(/\.ts$/, '')))}.ts`)

const importers = (name: string, valuesOnly: boolean): readonly string[] =>
  files.filter((file) => importsOf(file).some(({ from, typeOnly }) => from === name && !(valuesOnly && typeOnly)))

test('every source file belongs to a row', () => {
  expect(files.filter((file) => rowOf(file) < 0)).toEqual([])
})

test.each(files)('%s imports only from its own row or from a row above', (file) => {
  const upward = ownImports(file).filter((imported) => rowOf(imported) > rowOf(file))
  expect(upward).toEqual([])
})

test('no files import each other in a cycle', () => {
  const done = new Set<string>()
  const visit = (file: string, path: readonly string[]): void => {
    expect({ cycle: path.includes(file) ? [...path, file] : [] }).toEqual({ cycle: [] })
    if (done.has(file)) return
    for (const imported of ownImports(file)) visit(imported, [...path, file])
    done.add(file)
  }
  for (const file of files) visit(file, [])
})

test('no class of TypeORM is imported as a value, since the application may have another copy of TypeORM', () => {
  expect(importers('typeorm', true)).toEqual(['schema/declarations.ts'])
  const [imported = ''] = readFileSync(resolve(source, 'schema/declarations.ts'), 'utf8').split("} from 'typeorm'")
  const values = imported.split(/[{,\n]+/).filter((name) => /^ *\w+$/.test(name) && name.trim() !== 'import')
  // The storage is the same for all copies, and `InstanceChecker` compares the names of classes.
  expect(values.map((name) => name.trim())).toEqual(['getMetadataArgsStorage', 'InstanceChecker'])
})

test('no file imports koa as a value, and only site/ and the access rules import its types', () => {
  expect(importers('koa', true)).toEqual([])
  expect(importers('koa', false).toSorted()).toEqual([
    'access/rule.ts',
    'site/abort.ts',
    'site/custom-action.ts',
    'site/describe-action.ts',
    'site/held-bytes.ts',
    'site/koa.ts',
    'site/mount.ts',
    'site/operation.ts',
    'site/page.ts',
    'site/payload.ts',
    'site/pipelining.ts',
    'site/request-target.ts',
    'site/respond.ts',
    'site/routers.ts',
  ])
})

test.each([
  ['client', /^\.\//],
  ['admin', /^\.(\.\/client)?\//],
])('%s imports neither the service nor a package', (folder, allowed) => {
  const imported = files.filter((file) => file.startsWith(`${folder}/`)).flatMap((file) => importsOf(file))
  expect(imported.filter(({ from }) => !allowed.test(from))).toEqual([])
  expect(imported.length).toBeGreaterThan(0)
})
