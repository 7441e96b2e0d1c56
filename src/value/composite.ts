import { equalityOperators, type JsonSchema, refuse, stringJsonType, type ValueType } from './value-type'

/** Greatest length of the text of a key of several columns, in characters: that of a request target in Node.js. */
const maxKeyLength = 16 * 1024

/**
 * Value type of a key of several columns. Its text joins the texts of the parts with commas: `a,b`, with `\,` for a
 * comma and `\\` for a backslash in a part. Its value is an array with the value of each part.
 * @param parts value types of the columns
 */
export function compositeType(parts: readonly ValueType[]): ValueType {
  const description = `${parts.length} values separated by commas (${parts.map((part) => part.description).join('; ')})`
  const render = (values: readonly unknown[]): string =>
    parts.map((part, index) => escapePart(String(part.toJson(values[index])))).join(',')
  const fromText = (text: string): readonly unknown[] => {
    if (text.length > maxKeyLength) return refuse(description)
    const texts = splitParts(text, parts.length + 1)
    if (texts.length !== parts.length) return refuse(description)
    const values = parts.map((part, index) => part.fromText(texts[index] ?? ''))
    // `007,1` is rejected, because the key is rendered as `7,1`. Only values that the database considers equal, such as UUIDs in
    // upper and lower case, have several texts.
    const isValid = texts.map(escapePart).join(',') === text && toCompared(render(values)) === toCompared(text)
    return isValid ? values : refuse(description)
  }
  const toCompared = (text: string): string =>
    splitParts(text, parts.length)
      .map((part, index) => escapePart(parts[index]?.toCompared?.(part) ?? part))
      .join(',')
  const isKey = parts.every((part) => part.inPath !== undefined)
  return stringJsonType({
    name: 'other',
    description,
    schema: { type: 'string', examples: [parts.map(({ schema }) => escapePart(exampleOf(schema))).join(',')] },
    operators: equalityOperators,
    ...(isKey ? { inPath: /./ } : {}),
    fromText,
    toJson: (value) => render(value as readonly unknown[]),
    toCompared,
  })
}

function exampleOf({ type, examples, enum: members }: JsonSchema): string {
  const candidates = examples ?? members
  if (Array.isArray(candidates)) return String(candidates[0])
  return type === 'string' ? 'a' : '1'
}

function escapePart(text: string): string {
  return text.replace(/[\\,]/g, '\\$&')
}

/** Splits a key into its parts, at most so many: a text may consist of a million commas. */
function splitParts(text: string, maxParts: number): readonly string[] {
  const parts: string[] = []
  for (const [, part = ''] of `${text},`.matchAll(/((?:[^\\,]|\\.)*),/gsy)) {
    parts.push(part.replace(/\\(.)/gs, '$1'))
    if (parts.length === maxParts) break
  }
  return parts
}
