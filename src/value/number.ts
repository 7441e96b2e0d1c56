import { type Json, type JsonSchema, orderOperators, refuse, textualType, type ValueType } from './value-type'

/** The least and the greatest value of a column, both included. */
export interface IntegerRange {
  readonly min: bigint
  readonly max: bigint
}

/** The integers that a JavaScript number holds exactly, ±(2^53−1). */
export const safeRange: IntegerRange = { min: BigInt(Number.MIN_SAFE_INTEGER), max: BigInt(Number.MAX_SAFE_INTEGER) }

/** The range of a two's complement integer of so many bits. */
export function integerRange(bits: number): IntegerRange {
  const half = 2n ** BigInt(bits - 1)
  return { min: -half, max: half - 1n }
}

/** A JSON number while it is safe, else a string of digits (specification: Values in JSON); both ways. */
export function integerType(range: IntegerRange): ValueType {
  const mayExceedDouble = range.max > safeRange.max
  const description = `an integer from ${range.min} to ${range.max}${mayExceedDouble ? ', in a string beyond ±(2^53−1)' : ''}`
  const within = (value: bigint): number | string => {
    if (value < range.min || value > range.max) refuse(description)
    return isSafe(value) ? Number(value) : String(value)
  }
  return {
    name: 'integer',
    description,
    schema: mayExceedDouble ? wideSchema : { type: 'integer', minimum: Number(range.min), maximum: Number(range.max) },
    operators: orderOperators,
    exact: true,
    mayExceedDouble,
    // Databases take `1abc`, `1.0` and ` 1 ` for 1; a path does not.
    inPath: /^[1-9]\d*$/,
    fromText: (text) => (/^-?\d{1,20}$/.test(text) ? within(BigInt(text)) : refuse(description)),
    fromJson: (json) => {
      if (typeof json === 'number' && Number.isSafeInteger(json)) return within(BigInt(json))
      if (typeof json === 'string' && /^-?[1-9]\d{15,19}$/.test(json) && !isSafe(BigInt(json))) {
        return within(BigInt(json))
      }
      return refuse(typeof json === 'string' ? `${description}, without quotes` : description)
    },
    toJson: integerToJson,
  }
}

/** A number, or a text of digits where no number of JavaScript holds it (specification: Values in JSON). */
const wideSchema: JsonSchema = { type: ['integer', 'string'], format: 'int64', pattern: String.raw`^-?\d+$` }

function isSafe(value: bigint): boolean {
  return value >= safeRange.min && value <= safeRange.max
}

function integerToJson(value: unknown): Json {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : String(value)
}

export const floatType: ValueType = {
  name: 'float',
  description: 'a number',
  schema: { type: 'number' },
  operators: orderOperators,
  exact: true,
  fromText: (text) => {
    const number = /^-?(\d+(\.\d+)?|\.\d+)(e[+-]?\d{1,3})?$/i.test(text) ? Number(text) : Number.NaN
    return Number.isFinite(number) ? number : refuse(floatType.description)
  },
  fromJson: (json) => (typeof json === 'number' && Number.isFinite(json) ? json : refuse(floatType.description)),
  toJson: (value) => Number(value),
}

/**
 * Numbers of single precision, 32 bits. Between its functions a value is the double that is the same number, so that a
 * comparison is exact; as JSON it has as few digits as tell it from others.
 */
export const singleType: ValueType = {
  ...floatType,
  description: 'a number up to 3.4e38',
  fromText: (text) => toSingle(floatType.fromText(text)),
  fromJson: (json) => toSingle(floatType.fromJson(json)),
  toJson: (value) => {
    const single = Math.fround(Number(value))
    const digits = [1, 2, 3, 4, 5, 6, 7, 8, 9].find(
      (count) => Math.fround(Number(single.toPrecision(count))) === single,
    )
    return Number(single.toPrecision(digits))
  },
}

function toSingle(value: unknown): number {
  const single = Math.fround(Number(value))
  return Number.isFinite(single) ? single : refuse(singleType.description)
}

/** What the column of a decimal can hold, in digits. */
export interface DecimalShape {
  /** Before the point. */
  readonly whole: number
  /** Behind the point. */
  readonly fraction: number
  /** In all, from the first that is not 0. */
  readonly significant: number
}

/** Longest decimal that is read, in characters. */
const decimalLength = 100

/** Decimals are strings, so that no digit is lost (specification: Values in JSON). */
export function decimalType({ whole, fraction, significant }: DecimalShape): ValueType {
  const parts = [
    ...(whole < significant ? [`${whole} digits before the point`] : []),
    ...(fraction < significant ? [`${fraction} behind it`] : []),
    `${significant} in all`,
  ]
  const description = `a decimal number with at most ${parts.join(', ')}`
  const check = (text: string): string => {
    const [, before = '', behind = ''] =
      (text.length <= decimalLength && /^-?(\d+)(?:\.(\d+))?$/.exec(text)) || refuse(description)
    const leading = before.replace(/^0+/, '')
    const digits = `${leading}${behind.replace(/0+$/, '')}`.replace(/^0+/, '')
    const fits = leading.length <= whole && behind.length <= fraction && digits.length <= significant
    return fits ? text : refuse(description)
  }
  return textualType({
    name: 'decimal',
    description,
    schema: { type: 'string', format: 'decimal', examples: ['12.5'] },
    operators: orderOperators,
    fromText: check,
    toJson: (value) => (typeof value === 'number' ? renderDecimal(value, fraction, significant) : String(value)),
  })
}

function renderDecimal(value: number, fraction: number, significant: number): string {
  const [whole = '', behind = ''] = value
    .toLocaleString('en', { useGrouping: false, maximumSignificantDigits: significant })
    .split('.')
  // A column of two decimals shows two, one of any number as many as there are.
  const decimals = fraction < significant ? behind.padEnd(fraction, '0') : behind
  return decimals === '' ? whole : `${whole}.${decimals}`
}
