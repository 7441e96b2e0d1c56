import type { ValidationError } from 'class-validator'
import type { EntityMetadata, ObjectLiteral } from 'typeorm'
import type { FieldErrors } from '../errors'
import type { Field } from './field'

/**
 * Checks an entity.
 * @param changes what the request gives: of other fields that are hidden nothing is said
 * @param errors receives what the decorators find wrong
 */
export type Validate = (
  entity: ObjectLiteral,
  changes: ReadonlyMap<Field, unknown>,
  errors: FieldErrors,
) => Promise<void>

/** The check that `class-validator` makes of an entity's decorators, where that package is installed and there are any. */
export function buildValidate({ target }: EntityMetadata, shown: readonly Field[]): Validate | undefined {
  const validator = typeof target === 'function' ? load() : undefined
  if (validator === undefined || typeof target !== 'function') return undefined
  const rules = validator.getMetadataStorage().getTargetValidationMetadatas(target, '', false, false)
  if (rules.length === 0) return undefined
  return async (entity, changes, errors) => {
    const fields = new Set([...shown, ...changes.keys()])
    // What is missing has been said already, or is filled in by the database.
    const found = await validator.validate(entity, { skipUndefinedProperties: true, forbidUnknownValues: false })
    for (const { property, message } of found.flatMap((error) => violations(error))) {
      const field = [...fields].find((one) => isAbout(one, property))
      if (field !== undefined) errors.add(field.name, message)
    }
  }
}

interface Violation {
  /** Its path: `profile.city`. */
  readonly property: string
  /** Reads on from the property. */
  readonly message: string
}

function violations({ property, constraints = {}, children = [] }: ValidationError, within = ''): readonly Violation[] {
  const path = within + property
  const own = Object.values(constraints).map((text) => ({
    property: path,
    message: text.startsWith(`${property} `) ? text.slice(property.length + 1) : text,
  }))
  return [...own, ...children.flatMap((child) => violations(child, `${path}.`))]
}

function isAbout({ property, columns }: Field, path: string): boolean {
  return property === path || columns.some(({ column }) => column.propertyPath === path)
}

function load(): typeof import('class-validator') | undefined {
  try {
    return require('class-validator')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND') return undefined
    throw error
  }
}
