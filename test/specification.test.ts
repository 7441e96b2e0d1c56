import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Scenario } from './conformance/case'
import { accessScenarios } from './conformance/cases/access'
import { bodyScenarios } from './conformance/cases/bodies'
import { filterScenarios } from './conformance/cases/filters'
import { listScenarios } from './conformance/cases/lists'
import { recordScenarios } from './conformance/cases/records'
import { writeScenarios } from './conformance/cases/writes'

const page = readFileSync(join(__dirname, '../docs/specification.md'), 'utf8')
const headings = new Set([...page.matchAll(/^#{2,3} (.+)$/gm)].map(([, heading]) => heading))

/** The part of a title before the colon: one or more headings. */
const rulesOf = ({ rule }: Scenario): readonly string[] => (rule.split(':')[0] ?? '').split(', ')

test('titles of the conformance suite begin with headings of the specification', () => {
  const scenarios = [
    ...[recordScenarios, listScenarios, filterScenarios, bodyScenarios, writeScenarios, accessScenarios],
  ].flat()
  const unknown = scenarios.flatMap(rulesOf).filter((rule) => !headings.has(rule))
  expect([...new Set(unknown)]).toEqual([])
  expect(scenarios.length).toBeGreaterThan(300)
})

test('references in comments are headings of the specification', () => {
  const root = join(__dirname, '..')
  const files = ['src', 'test'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => join(root, folder, file)),
  )
  const references = files.flatMap((file) => [
    ...readFileSync(file, 'utf8').matchAll(/\(specification: ([A-Z][^)]+)\)/g),
  ])
  const unknown = references.flatMap(([, rules = '']) => rules.split(', ')).filter((rule) => !headings.has(rule))
  expect([...new Set(unknown)]).toEqual([])
  expect(references.length).toBeGreaterThan(50)
})

test('no two headings of the specification are the same', () => {
  expect(headings.size).toBe([...page.matchAll(/^#{2,3} /gm)].length)
})
