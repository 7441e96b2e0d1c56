import type { DataSource } from 'typeorm'
import { isPattern } from '../query/operand'
import type { Limits } from '../request/limits'
import { countings } from '../request/list-request'
import type { Field } from '../schema/field'
import { groupNames, reservedNames } from '../schema/list-parameters'
import type { ResourceView } from '../schema/resource-view'
import type { Json, JsonSchema, OperatorName } from '../value/value-type'
import { writtenSchema } from './field-schema'
import { type GroupMember, ownGroupMembers, relatedPattern } from './group-schema'
import { escapeRegex, includedRelations, type Reference, references } from './references'

/** A Parameter Object of OpenAPI. */
export interface Parameter extends JsonSchema {
  readonly name: string
}

const operatorDescriptions: Readonly<Record<OperatorName, string>> = {
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

const orderingDescription =
  'Fields to sort by, in order of priority. A leading hyphen sorts in descending order. Fields of a related record: ' +
  '`author__name`. Nulls count as the smallest value, unless `__nullsfirst` or `__nullslast` follows'

/**
 * The query parameters of a list: filters, groups, ordering and paging (specification: Lists).
 * @param taken names of other parameters, which fields can have too
 */
export function listParameters(
  view: ResourceView,
  dataSource: DataSource,
  limits: Limits,
  taken: ReadonlySet<string>,
): readonly Parameter[] {
  return [
    ...filterParameters(view, limits, taken),
    ...groupParameters,
    query('ordering', orderingDescription, {
      ...list(orderings(view)),
    }),
    limitParameter(view, limits),
    query('page', 'Number of the page, starting at 1', {
      schema: { type: 'integer', minimum: 1, maximum: limits.depth, default: 1 },
    }),
    ...(view.optionalParameters.has('after') ? [afterParameter(view)] : []),
    ...(view.optionalParameters.has('count') ? [countParameter(limits)] : []),
    ...(view.searchFields().length > 0 ? [searchParameter(view, limits)] : []),
    ...fieldsParameters(view),
    ...includeParameters(view, limits),
    ...(view.optionalParameters.has('aggregate') ? aggregateParameters(view, dataSource, limits) : []),
    ...(view.optionalParameters.has('format') ? [formatParameter(view)] : []),
  ]
}

/** The query parameters that select the records of a write: filters, groups and the search. */
export function matchingParameters(view: ResourceView, limits: Limits): readonly Parameter[] {
  const isSearchable = view.searchFields().length > 0
  return [
    ...filterParameters(view, limits, new Set(['max'])),
    ...groupParameters,
    ...(isSearchable ? [searchParameter(view, limits)] : []),
  ]
}

/** The parameter `fields` of lists and items; empty if a field has its name. */
export function fieldsParameters(view: ResourceView): readonly Parameter[] {
  if (!view.optionalParameters.has('fields')) return []
  const description = 'Fields of the records, besides "id", which they always have. The default is all fields'
  return [query('fields', description, list({ type: 'string', enum: selectableNames(view) }))]
}

/** Names of fields, of foreign keys without `_id`, and of embedded entities. */
function selectableNames({ outputFields, fields, embedded }: ResourceView): readonly string[] {
  const groups = [...embedded].filter((name) => outputFields.some((field) => field.name.startsWith(`${name}__`)))
  return [...new Set([...outputFields.map(({ name }) => name), ...fields.keys(), ...groups])]
}

/** The parameter `include`; empty if a field has its name, or if no relation can be included. */
export function includeParameters(view: ResourceView, { includes }: Limits): readonly Parameter[] {
  const names = [...includedRelations(view).keys()]
  if (names.length === 0) return []
  const description =
    `Related records to add: ${names.join(', ')}. Parameters may follow in parentheses: "comments(limit:5,ordering:-id,fields:(id,text))". ` +
    `At most ${includes} relations`
  const name = `(${names.map(escapeRegex).join('|')})([(].*[)])?`
  return [
    query('include', description, {
      schema: { type: 'string', pattern: `^${name}(,${name})*$`, examples: [names.join(',')] },
    }),
  ]
}

function limitParameter({ optionalParameters }: ResourceView, { page }: Limits): Parameter {
  const counts = optionalParameters.has('count')
  return query(
    'limit',
    counts ? 'Number of records on a page; 0 is allowed only with "count"' : 'Number of records on a page',
    {
      schema: { type: 'integer', minimum: counts ? 0 : 1, maximum: page.max, default: page.default },
    },
  )
}

function formatParameter({ formats }: ResourceView): Parameter {
  const description =
    'Format of the response. In another one than json, the list has all records, or as many as `limit`, which may exceed its maximum'
  return query('format', description, {
    schema: { type: 'string', enum: ['json', ...formats], default: 'json', examples: formats.slice(0, 1) },
  })
}

function countParameter({ count }: Limits): Parameter {
  return query('count', `Counts the records of all pages: "exact" counts all of them, "capped" at most ${count}`, {
    schema: { type: 'string', enum: [...countings] },
  })
}

function aggregateParameters(view: ResourceView, dataSource: DataSource, limits: Limits): readonly Parameter[] {
  const { functions, keys } = ownGroupMembers(view, dataSource, limits)
  const related = relatedPattern(view)
  const names = (members: readonly GroupMember[], suffix: string, maxItems: number): JsonSchema => {
    const own = members.map(({ name }) => name)
    const items: JsonSchema = {
      type: 'string',
      anyOf: [{ enum: own }, ...(related === undefined ? [] : [{ pattern: `^${related}${suffix}` }])],
    }
    const { schema, ...style } = list(items)
    return { ...style, schema: { ...Object(schema), minItems: 1, maxItems, examples: [own.slice(0, 1)] } }
  }
  return [
    query(
      'aggregate',
      'Returns groups instead of records, with these functions: `count`, `minutes__sum`. Filters on groups: `count__gte=2`',
      names(functions, '+__(sum|avg|min|max|count_distinct)$', limits.aggregates),
    ),
    query(
      'by',
      'Fields whose values identify a group, or a date part: `day__week`. Needs "aggregate"',
      names(keys, '*$', limits.groupFields),
    ),
  ]
}

function searchParameter(view: ResourceView, { parameterValue }: Limits): Parameter {
  const names = view.searchFields().map(({ through, field }) => {
    const relations = through.map(({ relation }, index) => {
      const { outputFields } = through[index - 1]?.target ?? view
      return outputFields.find((reference) => reference.relation === relation)?.name.replace(/_id$/, '')
    })
    return `\`${[...relations, field.name].join('__')}\``
  })
  return query(
    'search',
    `${view.searchIndex() === undefined ? 'Words' : 'Beginnings of words'} that must occur in a record, whatever their case, each in one of ${names.join(', ')}`,
    {
      schema: { type: 'string', maxLength: parameterValue, examples: ['two words'] },
      allowEmptyValue: true,
    },
  )
}

function afterParameter({ paging }: ResourceView): Parameter {
  const usage =
    paging === 'keyset' ? 'The links of this list contain it' : 'Empty for the first page, whose links then contain it'
  return query('after', `Token of a page for keyset paging, which takes the same time for every page. ${usage}`, {
    schema: { type: 'string' },
    allowEmptyValue: true,
  })
}

const groupDescriptions = {
  or: 'At least one of these filters matches: `(a:1,b__gt:2,not(c__is:null))`',
  and: 'All of these filters match, for the same related record: `(tags__name:a,tags__color:red)`',
  not: 'Not all of these filters match: `(a:1,b:2)`',
} as const

const groupParameters: readonly Parameter[] = groupNames.map((name) =>
  query(name, groupDescriptions[name], {
    schema: { type: 'string', pattern: '^[(].*[)]$', examples: ['(id__is:not_null)'] },
  }),
)

/**
 * Filters of a list: for each field and operator, and through up to two relations. Longer paths work too, but are not
 * listed.
 */
function filterParameters(
  view: ResourceView,
  limits: Limits,
  taken: ReadonlySet<string> = new Set(),
): readonly Parameter[] {
  const filtersThrough = (
    from: ResourceView,
    prefix: string,
    [name, relation]: Reference,
    depth: number,
  ): readonly Parameter[] => {
    const related = from.related(relation)
    if (related === undefined) return []
    const path = `${prefix}${name}__`
    const nestedFilters =
      depth > 1
        ? relations(related).flatMap((nextRelation) => filtersThrough(related, path, nextRelation, depth - 1))
        : []
    return [
      ...fieldFilters(related, limits).map((filter) => ({ ...filter, name: `${path}${filter.name}` })),
      ...nestedFilters,
    ]
  }
  const depth = Math.min(2, limits.joinDepth)
  const ownFilters = fieldFilters(view, limits).map((filter) =>
    reservedNames.has(filter.name) || taken.has(filter.name) ? { ...filter, name: `${filter.name}__eq` } : filter,
  )
  return [...ownFilters, ...relations(view).flatMap((relation) => filtersThrough(view, '', relation, depth))]
}

function relations(view: ResourceView): readonly Reference[] {
  return [...references(view), ...view.relations]
}

/** Filters by a resource's own fields, with the names that they have after a relation, where no name is reserved. */
function fieldFilters(view: ResourceView, limits: Limits): readonly Parameter[] {
  return view.outputFields.flatMap((field) => {
    const related = field.relation && view.related(field.relation)
    // A name after a foreign key is read as a field of the related resource first, and as an operator only if there is
    // none.
    const isOperator = (name: OperatorName): boolean => !related?.fields.has(name) && !related?.relations.has(name)
    return field.valueType.operators.filter(isOperator).map((operator) => {
      const name = operator === 'eq' ? field.name : `${field.name}__${operator}`
      return query(name, operatorDescriptions[operator], operand(field, operator, limits))
    })
  })
}

function operand(field: Field, operator: OperatorName, { pattern, members }: Limits): JsonSchema {
  const { examples, ...schema } = writtenSchema(field.valueType)
  // The length limits of the column apply only to stored values: a filter may compare with a longer text.
  const { maxLength, minLength, ...operandSchema } = schema
  if (operator === 'in')
    return { ...list(operandSchema), schema: { type: 'array', items: operandSchema, minItems: 1, maxItems: members } }
  if (operator === 'is') {
    const booleans = field.valueType.name === 'boolean' ? ['true', 'false'] : []
    return { schema: { type: 'string', enum: ['null', 'not_null', ...booleans] } }
  }
  if (isPattern(operator)) return { schema: { type: 'string', maxLength: pattern } }
  return { schema: operandSchema }
}

/**
 * Schema of a field in an ordering. Own fields are listed; related fields and null placements match a pattern, because
 * there are many.
 */
function orderings({ outputFields, optionalParameters }: ResourceView): JsonSchema {
  const fields = outputFields.filter(({ valueType }) => valueType.operators.includes('eq')).map(({ name }) => name)
  const names = [...fields, ...(optionalParameters.has('aggregate') && !fields.includes('count') ? ['count'] : [])]
  const ownFields = { enum: names.flatMap((name) => [name, `-${name}`]) }
  return { type: 'string', anyOf: [ownFields, { pattern: '^-?.+__.+$' }] }
}

/** Schema of a comma-separated list. */
function list(items: JsonSchema): JsonSchema {
  return { style: 'form', explode: false, schema: { type: 'array', items } }
}

export function query(name: string, description: string, rest: { readonly [keyword: string]: Json }): Parameter {
  return { name, in: 'query', description, ...rest }
}
