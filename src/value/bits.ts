import { equalityOperators, refuse, textualType, type ValueType } from './value-type'

/** Bits as text: `"101"`. */
export function bitType(minimum: number, maximum: number): ValueType {
  const count = minimum === maximum ? `${maximum}` : `up to ${maximum}`
  const description = maximum === Number.POSITIVE_INFINITY ? 'bits, as "101"' : `${count} bits, as "101"`
  return textualType({
    name: 'other',
    description,
    schema: { type: 'string', pattern: '^[01]*$', examples: ['101'] },
    operators: equalityOperators,
    fromText: (text) =>
      /^[01]*$/.test(text) && text.length >= minimum && text.length <= maximum ? text : refuse(description),
    toJson: String,
  })
}

const mostBits = 64

/** MySQL's bits, a number to it: its driver takes one and hands out bytes, and does not know how many bits the column has. */
export const packedBitsType: ValueType = textualType({
  ...bitType(1, mostBits),
  fromText: (text) => BigInt(`0b${bitType(1, mostBits).fromText(text)}`),
  toJson: (value) => {
    const number = Buffer.isBuffer(value) ? BigInt(`0x${value.toString('hex')}`) : BigInt(value as bigint)
    return number.toString(2)
  },
})
