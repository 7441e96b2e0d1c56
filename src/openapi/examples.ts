import type { Field } from '../schema/field'
import type { Json, JsonSchema } from '../value/value-type'

/** What texts of such names look like; the first that fits. */
const texts: readonly (readonly [name: RegExp, example: string])[] = [
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

const numbers: readonly (readonly [name: RegExp, example: number])[] = [
  [/latitude/, 38.72],
  [/longitude/, -9.14],
  [/year/, 2024],
  [/rating|stars/, 4],
  [/population/, 545_796],
]

/** A value that looks like a real one: by the field's name, since a schema has seldom more to go by. @param resource its name */
export function exampleOf(resource: string, { name, relation, path }: Field, schema: JsonSchema): Json | undefined {
  const { type, enum: members, examples, maxLength, minimum, maximum } = schema
  if (Array.isArray(members)) return members[0]
  if (Array.isArray(examples)) return examples[0]
  const last = (path.at(-1) ?? name).toLowerCase()
  const isKey = relation !== undefined || name === 'id'
  const types: readonly unknown[] = [type].flat()
  if (types.includes('integer')) return isKey ? 1 : within(Math.round(find(numbers, last) ?? 42), minimum, maximum)
  if (types.includes('number')) return within(find(numbers, last) ?? 12.5, minimum, maximum)
  if (type === 'boolean') return true
  if (type !== 'string') return undefined
  // A name is that of what has it.
  const text = (last === 'name' ? find(texts, resource) : undefined) ?? find(texts, last) ?? 'A few words'
  return typeof maxLength === 'number' ? text.slice(0, maxLength) : text
}

function find<Example>(table: readonly (readonly [RegExp, Example])[], name: string): Example | undefined {
  return table.find(([pattern]) => pattern.test(name))?.[1]
}

function within(value: number, minimum: Json | undefined, maximum: Json | undefined): number {
  const least = typeof minimum === 'number' ? minimum : value
  const most = typeof maximum === 'number' ? maximum : value
  return Math.min(Math.max(value, least), most)
}
