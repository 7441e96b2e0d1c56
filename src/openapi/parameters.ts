import type { Limits } from '../request/limits'
import { reserved } from '../request/list-request'
import type { Field } from '../schema/field'
import type { RelationMetadata } from '../schema/metadata'
import type { Resource } from '../schema/registry'
import type { Json, JsonSchema, OperatorName } from '../value/kind'
import { writtenSchema } from './schemas'

/** A Parameter Object of OpenAPI. */
export type Parameter = JsonSchema

const words: Readonly<Record<OperatorName, string>> = {
  eq: 'equal to this',
  ne: 'not equal to this',
  lt: 'less than this',
  lte: 'at most this',
  gt: 'greater than this',
  gte: 'at least this',
  in: 'any of these',
  is: 'null, not null, or a truth value',
  like: 'like this pattern, in which % stands for any text and _ for any character',
  ilike: 'like this pattern, whatever the case',
}

/** All that a list takes: filters, ordering and paging (spec.md, Query parameters). */
export function listParameters(resource: Resource, limits: Limits): readonly Parameter[] {
  const { default: size, max } = limits.page
  return [
    ...filterParameters(resource, limits),
    query('ordering', 'Fields to sort by, the first first; with a leading hyphen from the greatest to the least', {
      ...list(orderings(resource)),
    }),
    query('limit', 'Records of a page', { schema: { type: 'integer', minimum: 1, maximum: max, default: size } }),
    query('page', 'Which page, from 1', {
      schema: { type: 'integer', minimum: 1, maximum: limits.depth, default: 1 },
    }),
    ...(resource.takesAfter ? [afterParameter(resource)] : []),
  ]
}

function afterParameter({ paging }: Resource): Parameter {
  const when = paging === 'keyset' ? 'Links of this list have it' : 'Empty for the first page, whose links then have it'
  return query('after', `The token of a page that costs the same however deep it is. ${when}`, {
    schema: { type: 'string' },
    allowEmptyValue: true,
  })
}

/** The `If-Match` of a write and of a read (RFC 9110). */
export function ifMatchParameter(required: boolean): Parameter {
  return header('If-Match', 'Only where the record still has this ETag', required)
}

export const ifNoneMatchParameter = header('If-None-Match', 'Only where the record has another ETag', false)

/** The `id` of an item path. */
export function idParameter({ key }: Resource): Parameter {
  const { minimum, ...schema } = key.kind.schema
  const least = minimum === undefined ? {} : { minimum: 1 }
  return {
    name: 'id',
    in: 'path',
    required: true,
    description: 'The id of the record',
    schema: { ...schema, ...least },
  }
}

/**
 * A filter for each field and operator; through foreign keys two relations far, and through one to many records. Longer paths
 * can be asked for too.
 */
function filterParameters(resource: Resource, limits: Limits): readonly Parameter[] {
  const own = fieldFilters(resource, '', limits)
  const direct = references(resource).flatMap(([name, relation]): readonly Parameter[] => {
    const related = resource.related(relation)
    if (related === undefined) return []
    const further = references(related).flatMap(([next, second]) => {
      const end = related.related(second)
      return end === undefined ? [] : fieldFilters(end, `${name}__${next}__`, limits)
    })
    return [...fieldFilters(related, `${name}__`, limits), ...(limits.joinDepth > 1 ? further : [])]
  })
  const toMany = [...resource.relations].flatMap(([name, relation]) => {
    const related = resource.related(relation)
    return related === undefined ? [] : fieldFilters(related, `${name}__`, limits)
  })
  return [...own, ...direct, ...toMany]
}

/** Foreign keys by the name that joins have for them: without `_id`, unless a field has that name (D15). */
function references({ record, fields }: Resource): readonly (readonly [string, RelationMetadata])[] {
  return record.flatMap((field) => {
    const { name, relation } = field
    const short = name.replace(/_id$/, '')
    return relation ? [[fields.get(short) === field ? short : name, relation] as const] : []
  })
}

function fieldFilters(resource: Resource, prefix: string, limits: Limits): readonly Parameter[] {
  return resource.record.flatMap((field) => {
    const related = field.relation && resource.related(field.relation)
    // What could be the name of a field behind the relation is that.
    const isOperator = (name: OperatorName): boolean => !related?.fields.has(name) && !related?.relations.has(name)
    return field.kind.operators.filter(isOperator).map((operator): Parameter => {
      const isBare = operator === 'eq' && (prefix !== '' || !reserved.has(field.name))
      const name = `${prefix}${field.name}${isBare ? '' : `__${operator}`}`
      return query(name, words[operator], operand(field, operator, limits))
    })
  })
}

function operand(field: Field, operator: OperatorName, { pattern, members }: Limits): JsonSchema {
  const { examples, ...schema } = writtenSchema(field.kind)
  // A longer text than a column holds is a readable question.
  const { maxLength, minLength, ...asked } = schema
  if (operator === 'in')
    return { ...list(asked), schema: { type: 'array', items: asked, minItems: 1, maxItems: members } }
  if (operator === 'is') {
    const truths = field.kind.boolean ? ['true', 'false'] : []
    return { schema: { type: 'string', enum: ['null', 'not_null', ...truths] } }
  }
  if (operator === 'like' || operator === 'ilike') return { schema: { type: 'string', maxLength: pattern } }
  return { schema: asked }
}

function orderings({ record }: Resource): JsonSchema {
  const names = record.filter(({ kind }) => kind.operators.includes('eq')).map(({ name }) => name)
  return { type: 'string', enum: names.flatMap((name) => [name, `-${name}`]) }
}

/** Values with commas between them. */
function list(items: JsonSchema): JsonSchema {
  return { style: 'form', explode: false, schema: { type: 'array', items } }
}

function query(name: string, description: string, rest: { readonly [keyword: string]: Json }): Parameter {
  return { name, in: 'query', description, ...rest }
}

function header(name: string, description: string, required: boolean): Parameter {
  return { name, in: 'header', description, required, schema: { type: 'string' } }
}
