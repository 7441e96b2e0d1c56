import type { ValidationError } from 'class-validator'
import type { EntityMetadata, ObjectLiteral } from 'typeorm'
import type { Field } from './field'
import { childrenOf } from './metadata'

/** A violation of a decorator of `class-validator`. */
export interface Violation {
  /** Path of the property: `profile.city`. */
  readonly property: string
  /** A predicate that follows the property's name: "must be an email". */
  readonly message: string
}

/**
 * Validates an entity. Undefined properties are skipped: missing required fields are reported by other code, and the
 * database fills in the others.
 */
export type Validate = (entity: ObjectLiteral) => Promise<readonly Violation[]>

/**
 * Builds the validation of an entity by its `class-validator` decorators. A record of a child in the same table is
 * validated by those of the child.
 * @returns undefined if the package is not installed or neither the entity nor a child has such decorators
 */
export function buildValidate(metadata: EntityMetadata): Validate | undefined {
  const { target } = metadata
  const validator = typeof target === 'function' ? loadClassValidator() : undefined
  if (validator === undefined) return undefined
  const hasRules = (entity: EntityMetadata['target']): boolean =>
    typeof entity === 'function' &&
    validator.getMetadataStorage().getTargetValidationMetadatas(entity, '', false, false).length > 0
  if (![target, ...childrenOf(metadata).map((child) => child.target)].some(hasRules)) return undefined
  return async (entity) => {
    const errors = await validator.validate(entity, { skipUndefinedProperties: true, forbidUnknownValues: false })
    return errors.flatMap((error) => violationsOf(error))
  }
}

/** Whether a violation concerns a property of the field. */
export function concernsField({ property, columns }: Field, violation: Violation): boolean {
  return property === violation.property || columns.some(({ column }) => column.propertyPath === violation.property)
}

/** @param prefix path of the parent object, with a dot at its end */
function violationsOf(
  { property, constraints = {}, children = [] }: ValidationError,
  prefix = '',
): readonly Violation[] {
  const path = prefix + property
  const own = Object.values(constraints).map((text) => ({ property: path, message: toPredicate(property, text) }))
  return [...own, ...children.flatMap((child) => violationsOf(child, `${path}.`))]
}

/** Removes the name of the property from a message, because {@link Violation.message} follows the name. */
function toPredicate(property: string, text: string): string {
  const sentence = text.replace(/\.$/, '')
  if (sentence.startsWith(`${property} `)) return sentence.slice(property.length + 1)
  return /^\p{Lu}/u.test(sentence) ? `is not accepted: ${sentence}` : sentence
}

/**
 * @returns undefined if the package is not installed
 * @internal The declaration files of this package must not need `class-validator`, which is optional.
 */
export function loadClassValidator(): typeof import('class-validator') | undefined {
  try {
    require.resolve('class-validator')
  } catch {
    return undefined
  }
  return require('class-validator')
}
