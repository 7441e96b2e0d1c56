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

/**
 * A kind of values. Between its functions a value is what TypeORM's driver takes in and hands out for such a column; text
 * comes from a query string, JSON from a body and goes into a record.
 */
export interface Kind {
  /** "an integer from 1 to 9": completes the sentence "must be …". */
  readonly description: string
  /** What a record shows, and what a body gives. Of numbers and texts the shown may be more, where others write to the table too. */
  readonly schema: JsonSchema
  /** What a body or a filter may give, where that is another. */
  readonly written?: JsonSchema
  readonly operators: readonly OperatorName[]
  /** How a key of this kind is spelt in a path. A kind without it cannot be a key. */
  readonly inPath?: RegExp
  /** Whether a value that is shown says all that is stored of it: sent back as it was, it changes nothing. */
  readonly exact?: true
  /** Of booleans, which `is` compares with true and false. */
  readonly boolean?: true
  /** Of numbers, which sort of numbers they are. */
  readonly numeric?: 'integer' | 'decimal' | 'float'
  /** Of integers: whether there may be some that a double does not hold. */
  readonly wide?: boolean
  /**
   * Of values that are shown shorter than they may be stored, so that each is a span (specification: Date-times): what begins where it ends, as the
   * next second; undefined behind the last there is.
   */
  readonly end?: (value: unknown) => unknown
  /** @throws {ValueError} */
  readonly fromText: (text: string) => unknown
  /** `json` is never null. @throws {ValueError} */
  readonly fromJson: (json: unknown) => unknown
  /** `value` is never null. */
  readonly toJson: (value: unknown) => Json
}

/** What a kind says about a value that is not of it. @throws {ValueError} always */
export function refuse(description: string): never {
  throw new ValueError(`must be ${description}`)
}

/** A kind whose JSON is a string that is read like text. */
export function textualKind(kind: Omit<Kind, 'fromJson'>): Kind {
  return {
    ...kind,
    fromJson: (json) => (typeof json === 'string' ? kind.fromText(json) : refuse(`${kind.description}, in a string`)),
  }
}
