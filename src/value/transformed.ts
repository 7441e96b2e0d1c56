import { ValueError } from '../errors'
import { booleanKind } from './boolean'
import { dateTimeKind, renderDateTime } from './date-time'
import { jsonKind } from './json'
import { type Json, type Kind, nullOperators, refuse } from './kind'
import { floatKind } from './number'
import { textKind } from './text'

/** What a transformer of TypeORM does on the way to the database. */
export interface Transformer {
  readonly to: (value: unknown) => unknown
}

const builtIn: ReadonlyMap<unknown, Kind> = new Map<unknown, Kind>([
  [String, textKind()],
  [Number, floatKind],
  [Boolean, booleanKind],
  [Date, dateTimeKind],
])

/**
 * The kind of a column with transformers, which is about the values of the entity, not of the database: by the class of its
 * property, where the compiler has noted one; else any JSON that the transformers take.
 * @param stored the kind of the column type, if it has any
 */
export function transformedKind(
  stored: Kind | undefined,
  designType: unknown,
  transformers: readonly Transformer[],
): Kind {
  const kind =
    builtIn.get(designType) ?? anyKind(designType === undefined || designType === Object ? stored : undefined)
  const check = <T>(value: T): T => {
    try {
      transformers.reduceRight((result: unknown, transformer) => transformer.to(result), value)
      return value
    } catch (error) {
      if (error instanceof ValueError) throw error
      return refuse('a value that the transformer of its column takes')
    }
  }
  return {
    ...kind,
    fromText: (text) => check(kind.fromText(text)),
    fromJson: (json) => check(kind.fromJson(json)),
  }
}

/** @param stored says how the value is spelt in a filter */
function anyKind(stored: Kind | undefined): Kind {
  return {
    description: 'JSON',
    operators: stored?.operators ?? nullOperators,
    ...(stored?.inPath && { inPath: stored.inPath }),
    fromText: (text) => (stored === undefined ? refuse('compared by "is" only') : stored.fromText(text)),
    fromJson: jsonKind.fromJson,
    toJson: (value) => {
      if (value instanceof Date) return Number.isNaN(value.getTime()) ? String(value) : renderDateTime(value)
      return typeof value === 'bigint' ? renderBigInt(value) : (value as Json)
    },
  }
}

function renderBigInt(value: bigint): Json {
  return Number.isSafeInteger(Number(value)) ? Number(value) : String(value)
}
