import type { ValidationError } from 'class-validator'
import type { EntityMetadata, ObjectLiteral } from 'typeorm'
import type { Field } from './field'

/** What a decorator finds wrong. */
export interface Violation {
  /** The property's path: `profile.city`. */
  readonly property: string
  /** Reads on from the property. */
  readonly message: string
}

/** Checks an entity. What it lacks is not looked at: that has been said already, or the database fills it in. */
export type Validate = (entity: ObjectLiteral) => Promise<readonly Violation[]>

/** The check that `class-validator` makes of an entity's decorators, where that package is installed and there are any. */
export function buildValidate({ target }: EntityMetadata): Validate | undefined {
  const validator = typeof target === 'function' ? load() : undefined
  if (validator === undefined || typeof target !== 'function') return undefined
  const rules = validator.getMetadataStorage().getTargetValidationMetadatas(target, '', false, false)
  if (rules.length === 0) return undefined
  return async (entity) => {
    const found = await validator.validate(entity, { skipUndefinedProperties: true, forbidUnknownValues: false })
    return found.flatMap((error) => violations(error))
  }
}

/** Whether a violation is about a field. */
export function isAbout({ property, columns }: Field, violation: Violation): boolean {
  return property === violation.property || columns.some(({ column }) => column.propertyPath === violation.property)
}

function violations({ property, constraints = {}, children = [] }: ValidationError, within = ''): readonly Violation[] {
  const path = within + property
  const own = Object.values(constraints).map((text) => ({ property: path, message: phrase(property, text) }))
  return [...own, ...children.flatMap((child) => violations(child, `${path}.`))]
}

function phrase(property: string, text: string): string {
  const sentence = text.replace(/\.$/, '')
  if (sentence.startsWith(`${property} `)) return sentence.slice(property.length + 1)
  return /^\p{Lu}/u.test(sentence) ? `is not accepted: ${sentence}` : sentence
}

function load(): typeof import('class-validator') | undefined {
  try {
    require.resolve('class-validator')
  } catch {
    return undefined
  }
  return require('class-validator')
}
