import Database from 'better-sqlite3'
import fc from 'fast-check'
import { globPattern } from '../../src/dialect/sqlite/glob'

const database = new Database(':memory:')
const matches = database.prepare<[string, string], { found: number }>('SELECT ? GLOB ? AS found')
afterAll(() => database.close())

/** The meaning of `like` (specification: Operators) as a regular expression. */
function reference(pattern: string, ignoreCase: boolean): RegExp {
  const source = pattern.replace(/\\(.)|(.)/gsu, (_, escaped?: string, plain?: string) => {
    if (plain === '%') return '.*'
    if (plain === '_') return '.'
    return (escaped ?? plain ?? '').replace(/[\\^$.*+?()[\]{}|/]/, '\\$&')
  })
  return new RegExp(`^${source}$`, ignoreCase ? 'isu' : 'su')
}

const character = fc.constantFrom(
  'a',
  'A',
  'b',
  'é',
  'É',
  'я',
  'Я',
  '%',
  '_',
  '*',
  '?',
  '[',
  ']',
  '^',
  '-',
  '.',
  ' ',
  '𝒳',
)
const text = fc.array(character, { maxLength: 8 }).map((characters) => characters.join(''))
const pattern = fc
  .array(
    fc.oneof(
      character,
      character.map((escaped) => `\\${escaped}`),
      fc.constant('%'),
    ),
    { maxLength: 8 },
  )
  .map((parts) => parts.join(''))

test.each([
  ['like', false],
  ['ilike', true],
])('Operators: %s, converted to GLOB, matches the same texts as the pattern', (_, ignoreCase) => {
  const property = fc.property(text, pattern, (value, like) => {
    const found = matches.get(value, globPattern(like, ignoreCase))?.found === 1
    expect({ value, like, found }).toEqual({ value, like, found: reference(like, ignoreCase).test(value) })
  })
  fc.assert(property, { numRuns: 5000, seed: 16 })
})

test.each([
  ['ß', 'ẞ'],
  ['ẞ', 'ß'],
  ['θ', 'ϴ'],
  ['ǆ', 'ǅ'],
  ['Ǆ', 'ǆ'],
  ['ı', 'ı'],
])('Operators: ilike %s finds %s', (like, value) => {
  expect(matches.get(value, globPattern(like, true))?.found).toBe(1)
})

test('a pattern that is made of a text matches it', () => {
  const property = fc.property(text, (value) => {
    const like = value.replace(/[%_\\]/g, '\\$&')
    expect(matches.get(value, globPattern(like, false))?.found).toBe(1)
    expect(matches.get(value.toUpperCase(), globPattern(like, true))?.found).toBe(1)
  })
  fc.assert(property, { numRuns: 2000, seed: 16 })
})
