import { type Json, type JsonSchema, orderOperators, refuse, stringJsonType, type ValueType } from './value-type'

/** The least and the greatest value that a column can store, both included. */
export interface IntegerRange {
  readonly min: bigint
  readonly max: bigint
}

/** The integers that a JavaScript number represents exactly: ±(2^53−1). */
export const safeRange: IntegerRange = { min: BigInt(Number.MIN_SAFE_INTEGER), max: BigInt(Number.MAX_SAFE_INTEGER) }

/** The range of a signed integer with this number of bits. */
export function integerRange(bits: number): IntegerRange {
  const half = 2n ** BigInt(bits - 1)
  return { min: -half, max: half - 1n }
}

/**
 * Value type of integers. In records and bodies they are JSON numbers within ±(2^53−1), and strings of digits otherwise
 * (specification: Values in JSON).
 */
export function integerType(range: IntegerRange): ValueType {
  const mayExceedDouble = range.max > safeRange.max
  const form = mayExceedDouble ? ', in a string beyond ±(2^53−1)' : ''
  const description = `an integer from ${range.min} to ${range.max}${form}`
  const toValue = (value: bigint): number | string => {
    if (value < range.min || value > range.max) refuse(description)
    return isSafe(value) ? Number(value) : String(value)
  }
  return {
    name: 'integer',
    description,
    schema: mayExceedDouble ? int64Schema : { type: 'integer', minimum: Number(range.min), maximum: Number(range.max) },
    operators: orderOperators,
    exact: true,
    mayExceedDouble,
    // Databases may convert `1abc`, `1.0` and ` 1 ` to 1. In a path, only `1` is the key 1.
    inPath: /^[1-9]\d*$/,
    fromText: (text) => (/^-?\d{1,20}$/.test(text) ? toValue(BigInt(text)) : refuse(description)),
    fromJson: (json) => {
      if (typeof json === 'number' && Number.isSafeInteger(json)) return toValue(BigInt(json))
      if (typeof json === 'string' && /^-?[1-9]\d{15,19}$/.test(json) && !isSafe(BigInt(json))) {
        return toValue(BigInt(json))
      }
      return refuse(typeof json === 'string' ? `${description}, without quotes` : description)
    },
    toJson: integerToJson,
  }
}

const int64Schema: JsonSchema = { type: ['integer', 'string'], format: 'int64', pattern: String.raw`^-?\d+$` }

function isSafe(value: bigint): boolean {
  return value >= safeRange.min && value <= safeRange.max
}

function integerToJson(value: unknown): Json {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : String(value)
}

/** Value type of numbers of double precision. */
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
 * Value type of numbers of single precision (32 bits). A value is the double that equals the stored number, so that
 * comparisons are exact. The JSON form has the fewest digits that identify the number among those of single precision.
 */
export const singleFloatType: ValueType = {
  ...floatType,
  description: 'a number up to 3.4e38',
  fromText: (text) => toSingle(floatType.fromText(text)),
  fromJson: (json) => toSingle(floatType.fromJson(json)),
  toJson: (value) => shortestSingle(Number(value)),
}

function toSingle(value: unknown): number {
  const single = Math.fround(Number(value))
  return Number.isFinite(single) ? single : refuse(singleFloatType.description)
}

/** The number with the fewest digits that identifies a number among those of single precision. */
export function shortestSingle(value: number): number {
  const single = Math.fround(value)
  const digits = [1, 2, 3, 4, 5, 6, 7, 8, 9].find((count) => Math.fround(Number(single.toPrecision(count))) === single)
  return Number(single.toPrecision(digits))
}

/** Numbers of digits in a decimal column. */
export interface DecimalShape {
  /** Maximum number of digits before the decimal point. */
  readonly whole: number
  /** Maximum number of digits after the decimal point. */
  readonly fraction: number
  /** Maximum number of all digits, without zeros at the start and at the end of the fraction. */
  readonly significant: number
  /** Minimum number of digits after the decimal point in JSON: the scale of the column. Default: 0. */
  readonly minFraction?: number
}

/** The JSON of a `BigInt`: a text if a double cannot represent it. */
export function renderBigInt(value: bigint): number | string {
  return Number.isSafeInteger(Number(value)) ? Number(value) : String(value)
}

/** Greatest length of a decimal in a request, in characters. */
const maxDecimalLength = 100

/** Value type of decimals, which are strings in JSON so that no digit is lost (specification: Values in JSON). */
export function decimalType({ whole, fraction, significant, minFraction = 0 }: DecimalShape): ValueType {
  const parts = [
    ...(whole < significant ? [`${whole} digits before the point`] : []),
    ...(fraction < significant ? [`${fraction} after it`] : []),
    `${significant} in total`,
  ]
  const description = `a decimal number with at most ${parts.join(', ')}`
  const check = (text: string): string => {
    const [, before = '', after = ''] =
      (text.length <= maxDecimalLength && /^-?(\d+)(?:\.(\d+))?$/.exec(text)) || refuse(description)
    const leading = before.replace(/^0+/, '')
    const trailing = after.replace(/0+$/, '')
    const digits = `${leading}${trailing}`.replace(/^0+/, '')
    const fits = leading.length <= whole && trailing.length <= fraction && digits.length <= significant
    if (!fits) refuse(description)
    // As the column shows it: then `30` for a stored 30.00 changes nothing.
    const sign = digits !== '' && text.startsWith('-') ? '-' : ''
    return minFraction === 0 ? text : `${sign}${leading === '' ? '0' : leading}.${trailing.padEnd(minFraction, '0')}`
  }
  return stringJsonType({
    name: 'decimal',
    description,
    schema: { type: 'string', format: 'decimal', examples: ['12.5'] },
    operators: orderOperators,
    fromText: check,
    toJson: (value) => (typeof value === 'number' ? renderDecimal(value, significant, minFraction) : String(value)),
    toCompared: withoutZeros,
  })
}

/** A decimal without leading zeros, zeros at the end of the fraction, and the sign of zero. Other texts, as NaN, are unchanged. */
function withoutZeros(text: string): string {
  const parts = /^(-?)0*(\d*)(?:\.(\d*?)0*)?$/.exec(text)
  if (parts === null) return text
  const [, sign = '', before = '', after = ''] = parts
  const digits = `${before === '' ? '0' : before}${after === '' ? '' : `.${after}`}`
  return digits === '0' ? digits : `${sign}${digits}`
}

/** Greatest number of digits after the point that `Intl.NumberFormat` of Node.js 20 can round to. */
const maxRoundedFraction = 20
/** A decimal, also with an exponent, as JavaScript writes numbers. */
const decimalPattern = /^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i

/**
 * Returns a function that rounds a decimal to the digits that a column can show, half away from zero, as PostgreSQL and MariaDB
 * do. Other texts, and numbers with more digits before the point, are unchanged.
 */
export function decimalRounder({ fraction, significant }: DecimalShape): (text: string) => string {
  if (fraction > maxRoundedFraction) return (text) => text
  const format = new Intl.NumberFormat('en-US', {
    useGrouping: false,
    maximumFractionDigits: fraction,
    maximumSignificantDigits: significant,
    // Both maximums apply.
    roundingPriority: 'lessPrecision',
    signDisplay: 'negative',
  })
  const limit = 10 ** significant
  return (text) => {
    const isRounded = decimalPattern.test(text) && Math.abs(Number(text)) < limit
    // A text, unlike a number, is rounded as it is written: 1.005 to 1.01.
    return isRounded ? format.format(text as `${number}`) : text
  }
}

/** Number of digits that identifies every double. `toLocaleString` throws for more than 21. */
const maxDoubleDigits = 17

/**
 * Writes a number without an exponent.
 * @param digits maximum number of digits. Default: all that identify the number
 */
export function withoutExponent(value: number, digits = maxDoubleDigits): string {
  return value.toLocaleString('en', { useGrouping: false, maximumSignificantDigits: Math.min(digits, maxDoubleDigits) })
}

/** Renders a decimal that the driver or a listener returns as a number, with at least `minFraction` digits after the point. */
function renderDecimal(value: number, significant: number, minFraction: number): string {
  if (!Number.isFinite(value)) return String(value)
  const [integerPart = '', fractionPart = ''] = withoutExponent(value, significant).split('.')
  const decimals = fractionPart.padEnd(minFraction, '0')
  return decimals === '' ? integerPart : `${integerPart}.${decimals}`
}
