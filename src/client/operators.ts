/** Operators, and what each compares with (specification: Operators). */
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

/** Those of a value that is there. Of `any` all, since nobody knows; `unknown` is JSON, as objects and arrays are. */
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

/** Whether a value is one of some: their members are then properties, which an object without any does not have. */
type IsEnumeration<Value extends string | number> =
  Record<never, 1> extends { readonly [Member in Value]: 1 } ? false : true
