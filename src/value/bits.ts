import { equalityOperators, refuse, stringJsonType, type ValueType } from './value-type'

/**
 * Value type of bit strings, as text: `"101"`.
 * @param minimum least number of bits
 * @param maximum greatest number of bits
 */
export function bitType(minimum: number, maximum: number): ValueType {
  const bitCount = minimum === maximum ? `${maximum}` : `up to ${maximum}`
  const description = maximum === Number.POSITIVE_INFINITY ? 'bits, as "101"' : `${bitCount} bits, as "101"`
  return stringJsonType({
    name: 'other',
    description,
    schema: { type: 'string', pattern: '^[01]*$', examples: ['101'] },
    operators: equalityOperators,
    fromText: (text) =>
      /^[01]*$/.test(text) && text.length >= minimum && text.length <= maximum ? text : refuse(description),
    toJson: String,
  })
}

/** The most bits that a `BIT` column of MySQL can have. */
const maxMysqlBits = 64

/**
 * Value type of MySQL's `BIT`. The driver accepts a number and returns bytes, and does not know the column's number of
 * bits.
 */
export const packedBitsType: ValueType = stringJsonType({
  ...bitType(1, maxMysqlBits),
  fromText: (text) => BigInt(`0b${bitType(1, maxMysqlBits).fromText(text)}`),
  toJson: (value) => (Buffer.isBuffer(value) ? bytesToBigInt(value) : BigInt(value as bigint)).toString(2),
})

/** Converts bytes to an unsigned integer. The first byte is the most significant one. */
export function bytesToBigInt(bytes: Buffer): bigint {
  return BigInt(`0x0${bytes.toString('hex')}`)
}
