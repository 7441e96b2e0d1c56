/** What an editor offers where the typed client is called. */
import assert from 'node:assert/strict'
import { resolve } from 'node:path'
import ts from 'typescript'

const root = resolve(import.meta.dirname, '../..')
const file = resolve(root, 'test/types/completions.ts')
const { config } = ts.readConfigFile(resolve(root, 'tsconfig.json'), ts.sys.readFile)
const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root)
const start = `import type { City, Country, User, Visit } from '../../sample/entities'
import { createClient, type Excluding } from 'typeorm-resources/client'
const api = createClient<{
  city: City; country: Country; visit: Visit; user: Excluding<User, 'password' | 'email'>
}>('/api')
`
let text = ''
let version = 0
const service = ts.createLanguageService({
  ...ts.sys,
  useCaseSensitiveFileNames: () => ts.sys.useCaseSensitiveFileNames,
  getCompilationSettings: () => options,
  getCurrentDirectory: () => root,
  getDefaultLibFileName: ts.getDefaultLibFilePath,
  getScriptFileNames: () => [file],
  getScriptVersion: (name) => (name === file ? String(version) : '0'),
  getScriptSnapshot: (name) => {
    const read = name === file ? text : ts.sys.readFile(name)
    return read === undefined ? undefined : ts.ScriptSnapshot.fromString(read)
  },
  fileExists: (name) => name === file || ts.sys.fileExists(name),
})

/** @param call with `▮` for the cursor */
function completionsOf(call) {
  const [before, after] = `${start}${call}`.split('▮')
  text = before + after
  version++
  return service.getCompletionsAtPosition(file, before.length, {})?.entries.map(({ name }) => name) ?? []
}

const cases = [
  [
    'api.city.list({ ▮ })',
    ['name', 'id__in', 'population__gte', 'name__ilike', 'country', 'country_id', 'country__region'],
    ['populaton', 'population__like', 'region', 'country__borders'],
  ],
  ["api.city.list({ country__region: 'Europe', ▮ })", ['population__gte'], ['country__region']],
  ['api.visit.all({ ▮ }, { limit: 5 })', ['city__country__languages__code__in'], ['city__country__languages__borders']],
  ['api.visit.list({ ▮ })', ['user__username', 'user__active__is'], ['user__password', 'user__email']],
  ['api.city.list({ or: [{ ▮ }] })', ['name', 'country__region', 'not'], ['region']],
  ["api.country.list({ capital__is: '▮' })", ['null', 'not_null'], ['true']],
  [
    "api.city.list({}, { ordering: '▮' })",
    ['population', '-population', 'country_id', 'country__name', 'name__nullslast'],
    ['country__borders'],
  ],
  ['api.visit.create({ ▮ })', ['rating', 'city_id'], ['city']],
  ['api.▮', ['city', 'visit'], ['town']],
]
for (const [call, offered, others] of cases) {
  const names = completionsOf(call)
  assert.deepEqual(
    [offered.filter((name) => !names.includes(name)), others.filter((name) => names.includes(name))],
    [[], []],
    call,
  )
}
console.log(`completions of ${cases.length} calls`)
