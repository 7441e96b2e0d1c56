import { ValueError } from '../errors'

/** What can stand in a JSON document. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json }

/** A schema of JSON Schema, draft 2020-12, which OpenAPI 3.1 takes as it is. */
export interface JsonSchema {
  readonly [keyword: string]: Json
}

/** The comparison operators (specification: Operators). */
export const operatorNames = ['eq', 'ne', 'lt', 'lte', 'gt', 'gte', 'in', 'is', 'like', 'ilike'] as const
export type OperatorName = (typeof operatorNames)[number]

export const nullOperators: readonly OperatorName[] = ['is']
export const equalityOperators: readonly OperatorName[] = ['eq', 'ne', 'in', 'is']
export const orderOperators: readonly OperatorName[] = ['eq', 'ne', 'lt', 'lte', 'gt', 'gte', 'in', 'is']
export const textOperators: readonly OperatorName[] = operatorNames

/** The value types, by which code tells them apart. Those that are never told apart share `other`. */
export type ValueTypeName =
  | 'text'
  | 'boolean'
  | 'integer'
  | 'float'
  | 'decimal'
  | 'date-time'
  | 'date'
  | 'time'
  | 'array'
  | 'json'
  | 'other'

/**
 * A value type: how the values of a column are parsed, compared and rendered. Between its functions a value is what TypeORM's driver takes in and hands out for such a column; text
 * comes from a query string, JSON from a body and goes into a record.
 */
export interface ValueType {
  /** `text` only where the database stores text, so that it can be compared with patterns. */
  readonly name: ValueTypeName
  /** "an integer from 1 to 9": completes the sentence "must be …". */
  readonly description: string
  /** What a record shows, and what a body gives. Of numbers and texts the shown may be more, where others write to the table too. */
  readonly schema: JsonSchema
  /** What a body or a filter may give, where that is another. */
  readonly inputSchema?: JsonSchema
  readonly operators: readonly OperatorName[]
  /** How a key of this kind is spelt in a path. A kind without it cannot be a key. */
  readonly inPath?: RegExp
  /** Whether a value that is shown says all that is stored of it: sent back as it was, it changes nothing. */
  readonly exact?: true
  /** For integers: whether there may be values that a double cannot hold exactly. */
  readonly mayExceedDouble?: boolean
  /**
   * Of values that are shown shorter than they may be stored, so that each is a span (specification: Date-times): what begins where it ends, as the
   * next second; undefined behind the last there is.
   */
  readonly upperBound?: (value: unknown) => unknown
  /** @throws {ValueError} */
  readonly fromText: (text: string) => unknown
  /** `json` is never null. @throws {ValueError} */
  readonly fromJson: (json: unknown) => unknown
  /** `value` is never null. */
  readonly toJson: (value: unknown) => Json
}

/** Whether values are numbers. */
export function isNumeric({ name }: ValueType): boolean {
  return name === 'integer' || name === 'float' || name === 'decimal'
}

/** What a kind says about a value that is not of it. @throws {ValueError} always */
export function refuse(description: string): never {
  throw new ValueError(`must be ${description}`)
}

/** A kind whose JSON is a string that is read like text. */
export function textualType(kind: Omit<ValueType, 'fromJson'>): ValueType {
  return {
    ...kind,
    fromJson: (json) => (typeof json === 'string' ? kind.fromText(json) : refuse(`${kind.description}, in a string`)),
  }
}
