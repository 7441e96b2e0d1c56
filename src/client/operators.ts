/** Operators of a value that can only be compared with null (specification: Operators). */
interface NullOperands {
  readonly is: 'null' | 'not_null'
}
interface EqualityOperands<Value> extends NullOperands {
  readonly eq: Value
  readonly ne: Value
  readonly in: readonly Value[]
}
interface BooleanOperands extends Omit<EqualityOperands<boolean>, 'is'> {
  readonly is: 'null' | 'not_null' | boolean
}
interface OrderOperands<Value> extends EqualityOperands<Value> {
  readonly lt: Value
  readonly lte: Value
  readonly gt: Value
  readonly gte: Value
}
interface TextOperands<Value> extends OrderOperands<Value> {
  readonly like: string
  readonly ilike: string
}

/** Operators of a type and their operand types. `any` has all operators; `unknown`, objects and arrays are JSON. */
export type Operands<Value> = 0 extends 1 & Value
  ? TextOperands<string | number | boolean | Date>
  : [Value] extends [boolean]
    ? BooleanOperands
    : [Value] extends [Date]
      ? OrderOperands<Date | string>
      : [Value] extends [bigint]
        ? OrderOperands<bigint | number | string>
        : [Value] extends [string | number]
          ? OperandsOfText<Value>
          : NullOperands

type OperandsOfText<Value extends string | number> =
  IsEnumeration<Value> extends true
    ? EqualityOperands<Value>
    : [Value] extends [string]
      ? TextOperands<Value>
      : OrderOperands<Value>

/**
 * Whether a type is a union of literals. Then `{ [Member in Value]: 1 }` has required properties, which
 * `Record<never, 1>` lacks.
 */
export type IsEnumeration<Value extends string | number> =
  Record<never, 1> extends { readonly [Member in Value]: 1 } ? false : true
