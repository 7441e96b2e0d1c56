import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { gzipSync } from 'node:zlib'
import * as library from 'typeorm-resources'

const root = resolve(__dirname, '..')
const names = [
  'ApiKeys',
  'ConfigError',
  'DatabaseError',
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

test('an application can declare further properties of principals', () => {
  execFileSync('npx', ['tsc', '-p', 'test/types/tsconfig.principal.json'], { cwd: root, stdio: 'inherit' })
})

test('the explorer is less than 100 kB, compressed', () => {
  const sent = ['js', 'css'].map((type) => gzipSync(readFileSync(resolve(root, `dist/web/explorer.${type}`))).length)
  expect(Math.min(...sent)).toBeGreaterThan(1000)
  expect(sent.reduce((sum, size) => sum + size)).toBeLessThan(100_000)
})

test.each([
  ['react-admin', 'HttpError,createAccessControl,createBasicAuth,createDataProvider,createTokenAuth'],
  ['refine', 'HttpError,createAccessControl,createBasicAuth,createDataProvider,createTokenAuth'],
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
