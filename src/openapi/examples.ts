import type { Field } from '../schema/field'
import type { Json, JsonSchema } from '../value/value-type'

/** Example texts by field name. The first pattern that matches applies. */
const exampleTexts: readonly (readonly [name: RegExp, example: string])[] = [
  [/e_?mail/, 'ann@mail.example'],
  [/password/, 'correct horse battery staple'],
  [/user_?name|login|nick/, 'ann'],
  [/(first|given)_?name/, 'Ann'],
  [/(last|family|sur)_?name/, 'Lee'],
  [/phone|mobile/, '+44 20 7946 0018'],
  [/url|website|homepage|link/, 'https://example.org/'],
  [/street|address/, '12 High Street'],
  [/post_?code|zip/, 'SW1A 1AA'],
  [/city|town|capital/, 'Lisbon'],
  [/country/, 'Portugal'],
  [/region|continent/, 'Europe'],
  [/language|locale/, 'en'],
  [/currency/, 'EUR'],
  [/colou?r/, 'blue'],
  [/slug/, 'a-quiet-morning'],
  [/code|sku/, 'A17'],
  [/title|subject|headline/, 'A quiet morning'],
  [/(user|person|author|member|customer|employee|contact|student|reader)$|.name/, 'Ann Lee'],
  [/name|label/, 'Example'],
]

/** Example numbers by field name. The first pattern that matches applies. */
const exampleNumbers: readonly (readonly [name: RegExp, example: number])[] = [
  [/latitude/, 38.72],
  [/longitude/, -9.14],
  [/year/, 2024],
  [/rating|stars/, 4],
  [/population/, 545_796],
]

/** Example value of a field, chosen by its schema and its name. @param view name of the resource */
export function exampleOf(view: string, { name, relation, path }: Field, schema: JsonSchema): Json | undefined {
  const { type, enum: enumMembers, examples, maxLength, minimum, maximum } = schema
  if (Array.isArray(enumMembers)) return enumMembers[0]
  if (Array.isArray(examples)) return examples[0]
  const fieldName = (path.at(-1) ?? name).toLowerCase()
  const isKey = relation !== undefined || name === 'id'
  const types: readonly unknown[] = [type].flat()
  if (types.includes('integer'))
    return isKey ? 1 : clamp(Math.round(find(exampleNumbers, fieldName) ?? 42), minimum, maximum)
  if (types.includes('number')) return clamp(find(exampleNumbers, fieldName) ?? 12.5, minimum, maximum)
  if (type === 'boolean') return true
  if (type !== 'string') return undefined
  // The example for a field `name` depends on the resource, such as `country`.
  const text =
    (fieldName === 'name' ? find(exampleTexts, view) : undefined) ?? find(exampleTexts, fieldName) ?? 'A few words'
  return typeof maxLength === 'number' ? text.slice(0, maxLength) : text
}

function find<Example>(table: readonly (readonly [RegExp, Example])[], name: string): Example | undefined {
  return table.find(([pattern]) => pattern.test(name))?.[1]
}

function clamp(value: number, minimum: Json | undefined, maximum: Json | undefined): number {
  const lower = typeof minimum === 'number' ? minimum : value
  const upper = typeof maximum === 'number' ? maximum : value
  return Math.min(Math.max(value, lower), upper)
}
