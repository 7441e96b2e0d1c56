import type { Limits } from '../request/limits'
import { countings } from '../request/list-request'
import type { Field } from '../schema/field'
import { groupNames, reservedNames } from '../schema/list-parameters'
import { memoize } from '../schema/memoize'
import type { RelationMetadata } from '../schema/metadata'
import type { Resource } from '../schema/registry'
import type { Json, JsonSchema, OperatorName } from '../value/value-type'
import { writtenSchema } from './schemas'

/** A Parameter Object of OpenAPI. */
export interface Parameter extends JsonSchema {
  readonly name: string
}

const words: Readonly<Record<OperatorName, string>> = {
  eq: 'equal to this',
  ne: 'not equal to this',
  lt: 'less than this',
  lte: 'at most this',
  gt: 'greater than this',
  gte: 'at least this',
  in: 'any of these',
  is: 'null, not null, or a truth value',
  like: 'like this pattern: % is any text, _ any character',
  ilike: 'like this pattern, whatever the case',
}

const orderingWords =
  'Fields to sort by, the first first; with a leading hyphen from the greatest to the least. Through relations to one record: ' +
  '`author__name`. Nulls are the least, unless `__nullsfirst` or `__nullslast` follows'

/** All that a list takes: filters, ordering and paging (specification: Lists). */
export function listParameters(resource: Resource, limits: Limits): readonly Parameter[] {
  return [
    ...filterParameters(resource, limits),
    ...groupParameters,
    query('ordering', orderingWords, {
      ...list(orderings(resource)),
    }),
    limitParameter(resource, limits),
    query('page', 'Which page, from 1', {
      schema: { type: 'integer', minimum: 1, maximum: limits.depth, default: 1 },
    }),
    ...(resource.optionalParameters.has('after') ? [afterParameter(resource)] : []),
    ...(resource.optionalParameters.has('count') ? [countParameter(limits)] : []),
  ]
}

function limitParameter({ optionalParameters }: Resource, { page }: Limits): Parameter {
  const counts = optionalParameters.has('count')
  return query('limit', counts ? 'Records of a page; 0 only with "count"' : 'Records of a page', {
    schema: { type: 'integer', minimum: counts ? 0 : 1, maximum: page.max, default: page.default },
  })
}

function countParameter({ count }: Limits): Parameter {
  return query('count', `Counts the records of all pages: all of them, or at most ${count}`, {
    schema: { type: 'string', enum: [...countings] },
  })
}

function afterParameter({ paging }: Resource): Parameter {
  const when = paging === 'keyset' ? 'Links of this list have it' : 'Empty for the first page, whose links then have it'
  return query('after', `The token of a page that costs the same however deep it is. ${when}`, {
    schema: { type: 'string' },
    allowEmptyValue: true,
  })
}

const groupWords = {
  or: 'Any of these filters holds: `(a:1,b__gt:2,not(c__is:null))`',
  and: 'All of these filters hold, for the same related record: `(tags__name:a,tags__color:red)`',
  not: 'These filters do not all hold: `(a:1,b:2)`',
} as const

const groupParameters: readonly Parameter[] = groupNames.map((name) =>
  query(name, groupWords[name], { schema: { type: 'string', pattern: '^[(].*[)]$', examples: ['(id__is:not_null)'] } }),
)

/** A filter for each field and operator, and through relations two far. Longer paths can be asked for too. */
function filterParameters(resource: Resource, limits: Limits): readonly Parameter[] {
  const through = (
    from: Resource,
    prefix: string,
    [name, relation]: Reference,
    depth: number,
  ): readonly Parameter[] => {
    const related = from.related(relation)
    if (related === undefined) return []
    const path = `${prefix}${name}__`
    const further = depth > 1 ? relations(related).flatMap((next) => through(related, path, next, depth - 1)) : []
    return [...fieldFilters(related, limits).map((own) => ({ ...own, name: `${path}${own.name}` })), ...further]
  }
  const depth = Math.min(2, limits.joinDepth)
  const own = fieldFilters(resource, limits).map((filter) =>
    reservedNames.has(filter.name) ? { ...filter, name: `${filter.name}__eq` } : filter,
  )
  return [...own, ...relations(resource).flatMap((relation) => through(resource, '', relation, depth))]
}

/** A relation, by the name that joins have for it. */
type Reference = readonly [name: string, relation: RelationMetadata]

function relations(resource: Resource): readonly Reference[] {
  return [...references(resource), ...resource.relations]
}

/** Foreign keys by the name that joins have for them: without `_id`, unless a field has that name (specification: Names of filters). */
function references({ outputFields, fields }: Resource): readonly Reference[] {
  return outputFields.flatMap((field) => {
    const { name, relation } = field
    const short = name.replace(/_id$/, '')
    return relation ? [[fields.get(short) === field ? short : name, relation] as const] : []
  })
}

/** The filters by a resource's own fields, as they are behind the name of a relation, where no word is reserved. */
const fieldFilters = memoize((resource: Resource, limits: Limits): readonly Parameter[] =>
  resource.outputFields.flatMap((field) => {
    const related = field.relation && resource.related(field.relation)
    // What could be the name of a field behind the relation is that.
    const isOperator = (name: OperatorName): boolean => !related?.fields.has(name) && !related?.relations.has(name)
    return field.valueType.operators.filter(isOperator).map((operator) => {
      const name = operator === 'eq' ? field.name : `${field.name}__${operator}`
      return query(name, words[operator], operand(field, operator, limits))
    })
  }),
)

function operand(field: Field, operator: OperatorName, { pattern, members }: Limits): JsonSchema {
  const { examples, ...schema } = writtenSchema(field.valueType)
  // A longer text than a column holds is a readable question.
  const { maxLength, minLength, ...asked } = schema
  if (operator === 'in')
    return { ...list(asked), schema: { type: 'array', items: asked, minItems: 1, maxItems: members } }
  if (operator === 'is') {
    const truths = field.valueType.name === 'boolean' ? ['true', 'false'] : []
    return { schema: { type: 'string', enum: ['null', 'not_null', ...truths] } }
  }
  if (operator === 'like' || operator === 'ilike') return { schema: { type: 'string', maxLength: pattern } }
  return { schema: asked }
}

/** Own fields are listed, those of related records and where nulls stand only described: there are many. */
function orderings({ outputFields }: Resource): JsonSchema {
  const names = outputFields.filter(({ valueType }) => valueType.operators.includes('eq')).map(({ name }) => name)
  const own = { enum: names.flatMap((name) => [name, `-${name}`]) }
  return { type: 'string', anyOf: [own, { pattern: '^-?.+__.+$' }] }
}

/** Values with commas between them. */
function list(items: JsonSchema): JsonSchema {
  return { style: 'form', explode: false, schema: { type: 'array', items } }
}

function query(name: string, description: string, rest: { readonly [keyword: string]: Json }): Parameter {
  return { name, in: 'query', description, ...rest }
}
