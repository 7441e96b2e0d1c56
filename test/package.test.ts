import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { gzipSync } from 'node:zlib'
import * as library from 'typeorm-resources'

const root = resolve(__dirname, '..')
const names = [
  'ApiKeys',
  'ConfigError',
  'DatabaseError',
  'IdempotencyKey',
  'Resource',
  'SqliteLockError',
  'UserAccount',
  'adminRule',
  'anonymous',
  'apiKeys',
  'basic',
  'bearer',
  'closeGracefully',
  'createApiKey',
  'custom',
  'describeAction',
  'hashPassword',
  'lockSqlite',
  'mountResources',
  'problem',
  'readOnlyRule',
  'userRule',
  'verifyPassword',
]

test('the package exports exactly these names', () => {
  expect(Object.keys(library).toSorted()).toEqual(names)
})

const run = (type: 'commonjs' | 'module', code: string): string =>
  execFileSync(process.execPath, [`--input-type=${type}`, '-e', code], { cwd: root, encoding: 'utf8' }).trim()

test('the built package can be loaded by require and by import', () => {
  expect(run('commonjs', 'console.log(Object.keys(require("typeorm-resources")).sort().join())')).toBe(names.join())
  const list = names.join(', ')
  expect(run('module', `import { ${list} } from "typeorm-resources"; console.log([${list}].length)`)).toBe(
    String(names.length),
  )
})

test('the declaration files import only packages that are always installed, and types that all versions of @types/node have', () => {
  const { dependencies, peerDependencies, peerDependenciesMeta } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8'),
  )
  const always = Object.keys({ ...dependencies, ...peerDependencies }).filter(
    (name) => !peerDependenciesMeta[name]?.optional,
  )
  const files = readdirSync(join(root, 'dist'), { encoding: 'utf8', recursive: true }).filter((file) =>
    /\.d\.ts$/.test(file),
  )
  const text = files.map((file) => readFileSync(join(root, 'dist', file), 'utf8')).join('\n')
  const imported = [...text.matchAll(/(?:from |import\()["']((?:@[^/"']+\/)?[^./"'][^/"']*)/g)].map(
    ([, name = '']) => name,
  )
  expect([...new Set(imported)].filter((name) => !isBuiltin(name) && !always.includes(name))).toEqual([])
  expect(imported).toContain('typeorm')
  // Newer versions of @types/node do not have this type in `node:crypto`. With `skipLibCheck`, a missing type is `any`.
  expect(text).not.toMatch(/import .*\bJsonWebKey\b.* from 'node:crypto'/)
})

test('without the SDK of the Model Context Protocol, only a mount with the option mcp fails', () => {
  const program = `
    const Module = require('node:module')
    const resolve = Module._resolveFilename
    Module._resolveFilename = (name, ...others) => {
      if (name.startsWith('@modelcontextprotocol/')) throw new Error(name + ' is not installed')
      return resolve(name, ...others)
    }
    const Koa = require('koa')
    const { DataSource } = require('typeorm')
    const { mountResources } = require('typeorm-resources')
    const dataSource = new DataSource({ type: 'better-sqlite3', database: ':memory:' })
    mountResources(new Koa(), dataSource)
    try {
      mountResources(new Koa(), dataSource, { mcp: true })
    } catch (error) {
      console.log(error.mistakes.join())
    }`
  expect(run('commonjs', program)).toBe(
    '"mcp" requires the package @modelcontextprotocol/sdk: run npm install @modelcontextprotocol/sdk',
  )
})

test('an application can declare further properties of principals', () => {
  execFileSync('npx', ['tsc', '-p', 'test/types/tsconfig.principal.json'], { cwd: root, stdio: 'inherit' })
})

test('the explorer is less than 44 kB, compressed', () => {
  const sent = ['js', 'css'].map((type) => gzipSync(readFileSync(resolve(root, `dist/web/explorer.${type}`))).length)
  expect(Math.min(...sent)).toBeGreaterThan(1000)
  expect(sent.reduce((sum, size) => sum + size)).toBeLessThan(44_000)
})

test.each([
  ['react-admin', 'HttpError,createAccessControl,createBasicAuth,createDataProvider,createLiveMethods,createTokenAuth'],
  ['refine', 'HttpError,createAccessControl,createBasicAuth,createDataProvider,createLiveProvider,createTokenAuth'],
])('the built data provider for %s can be imported without its library', (entry, expected) => {
  expect(run('module', `console.log(Object.keys(await import("typeorm-resources/${entry}")).sort().join())`)).toBe(
    expected,
  )
})

test('the built client can be loaded by import, and by require of ES modules (Node.js 20.19)', () => {
  const client = 'ResourceError,createClient,etagOf'
  expect(run('module', 'console.log(Object.keys(await import("typeorm-resources/client")).sort().join())')).toBe(client)
  expect(run('commonjs', 'console.log(Object.keys(require("typeorm-resources/client")).sort().join())')).toBe(client)
})

test('the package of the client installs nothing else, and has the types of the client', () => {
  const folder = mkdtempSync(join(tmpdir(), 'client-'))
  const npm = (...args: readonly string[]): string =>
    execFileSync('npm', [...args, '--silent', '--no-audit', '--no-fund'], { cwd: folder, encoding: 'utf8' }).trim()
  try {
    const tarball = npm('pack', join(root, 'packages/client'))
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
    npm('install', '--offline', `./${tarball}`)
    expect(readdirSync(join(folder, 'node_modules')).filter((name) => !name.startsWith('.'))).toEqual([
      'typeorm-resources-client',
    ])
    writeFileSync(
      join(folder, 'page.ts'),
      `import { createClient, type Excluding, type RecordOf } from 'typeorm-resources-client'
      import { createDataProvider } from 'typeorm-resources-client/react-admin'
      import { createAccessControl } from 'typeorm-resources-client/refine'
      interface User { id: number; username: string; password: string }
      interface Note { id: number; title: string; created: Date; author: User }
      interface Site { note: Note; user: Excluding<User, 'password'> }
      const api = createClient<Site>('http://127.0.0.1:9/api', { retries: 0 })
      export const titles = async (): Promise<string[]> =>
        (await api.note.list({ author__username: 'ann' })).objects.map(({ title, author_id }) => title + author_id)
      export const hour = ({ created }: RecordOf<Note, Site>): string => created.slice(11, 13)
      // @ts-expect-error unknown field
      export const unknown = () => api.note.list({ titel: 'Hello' })
      // @ts-expect-error excluded field
      export const hidden = () => api.note.list({ author__password: 'secret' })
      console.log(typeof createDataProvider, typeof createAccessControl, typeof api.note.list)`,
    )
    // The programs of the guide, which are in the folder src.
    const guide = readFileSync(resolve(root, 'docs/how-to/front-end.md'), 'utf8')
    const programs = [...guide.matchAll(/^```typescript\n\/\/ src\/(\S+)\n(.*?)^```/gms)]
    expect(programs.map(([, name]) => name)).toEqual(['api.ts', 'main.ts'])
    for (const [, name = '', text = ''] of programs) writeFileSync(join(folder, name), text)
    const options = [
      '--strict',
      '--module',
      'nodenext',
      '--target',
      'es2023',
      '--lib',
      'es2023,dom,dom.iterable',
      '--types',
      '',
    ]
    execFileSync(resolve(root, 'node_modules/.bin/tsc'), [...options, 'page.ts', 'main.ts'], {
      cwd: folder,
      stdio: 'inherit',
    })
    expect(execFileSync(process.execPath, ['page.js'], { cwd: folder, encoding: 'utf8' })).toBe(
      'function function function\n',
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

test('the packages of the service and of the client have one version and the same optional peer dependencies', () => {
  const [service, client] = ['package.json', 'packages/client/package.json'].map((file) =>
    JSON.parse(readFileSync(resolve(root, file), 'utf8')),
  )
  expect(client.version).toBe(service.version)
  expect(service.peerDependencies).toMatchObject(client.peerDependencies)
  expect(client.dependencies).toBeUndefined()
})
