import type { ResourceOptions } from '../resource'
import type { FilterNames } from '../schema/resource-view'
import { type OperatorName, operatorNames } from '../value/value-type'
import { fieldFunctions } from './field-functions'

/**
 * Maximum length of a name that is compared with those of fields. A body may have names of 1 MB: comparing one with the fields of a
 * large entity would take seconds.
 */
const maxComparedLength = 256

/** Parameters of lists by the names that they have in other services, in lower case. */
const parameterAliases: ReadonlyMap<string, string> = new Map([
  ...['sort', 'sort_by', 'order', 'order_by', 'orderby'].map((name) => [name, 'ordering'] as const),
  ...['offset', 'skip', 'start'].map((name) => [name, 'page'] as const),
  ...['per_page', 'page_size', 'pagesize', 'size', 'take'].map((name) => [name, 'limit'] as const),
  ...['expand', 'populate', 'embed'].map((name) => [name, 'include'] as const),
  ...['q', 'query'].map((name) => [name, 'search'] as const),
  ['select', 'fields'],
])

/** Parameters that lists have only with an option of the resource, and its name. */
const optionalParameters: ReadonlyMap<string, keyof ResourceOptions> = new Map([
  ['search', 'search'],
  ['format', 'formats'],
  ['aggregate', 'aggregate'],
  ['by', 'aggregate'],
])

/** An operator of this service, and how to use it instead of one of another service. */
interface OperatorAlias {
  readonly operator: OperatorName
  readonly advice: string
}

/** Operators of other services. */
const operatorAliases: ReadonlyMap<string, OperatorAlias> = new Map([
  ...aliases(['exact', 'equals'], 'eq', '"eq"'),
  ...aliases(['not', 'neq', 'nq'], 'ne', '"ne"'),
  ...aliases(['contains', 'startswith', 'endswith', 'startsWith', 'endsWith'], 'like', '"like" with % for any text'),
  ...aliases(['icontains', 'istartswith', 'iendswith', 'iexact'], 'ilike', '"ilike" with % for any text'),
  ...aliases(['isnull', 'null'], 'is', '"is" with the value null or not_null'),
  ...aliases(['between', 'range'], 'gte', '"gte" and "lte"'),
])

function aliases(
  names: readonly string[],
  operator: OperatorName,
  advice: string,
): readonly (readonly [string, OperatorAlias])[] {
  return names.map((name) => [name, { operator, advice }])
}

/**
 * Advice for an unknown name in a query, such as `use score__gt; `; empty if there is none. Only names of the view are
 * suggested.
 * @param isWholeName whether the name is the whole name of a parameter, not a part of it
 */
export function suggestName(view: FilterNames, name: string, isWholeName: boolean): string {
  if (name.length > maxComparedLength) return ''
  const option = isWholeName ? optionalParameters.get(name) : undefined
  if (option !== undefined) return `as a parameter it needs the option "${option}" of the resource; `
  const parameter = isWholeName ? parameterAliases.get(name.toLowerCase()) : undefined
  const suggestion =
    parameter ??
    suggestOperatorName(view, name) ??
    suggestSignName(view, name) ??
    suggestPath(view, name) ??
    suggestSortName(view, name) ??
    suggestFunctionName(view, name) ??
    similarName(view, name)
  return suggestion === undefined ? '' : `use ${suggestion}; `
}

/** Advice for an unknown name in a body, such as `use author_id; `; empty if there is none. */
export function suggestBodyName(view: FilterNames, name: string): string {
  const suggestion = name.length > maxComparedLength ? undefined : similarName(view, name)
  return suggestion === undefined ? '' : `use ${suggestion}; `
}

/** Name of a visible field that differs only in case and underscores. TypeORM's own name for `author_id` is `authorId`. */
function similarName({ outputFields }: FilterNames, name: string): string | undefined {
  const plain = (text: string): string => text.replaceAll('_', '').toLowerCase()
  const plainName = plain(name)
  return outputFields.find((field) => plain(field.name) === plainName)?.name
}

/** Name of a field and an operator, joined in another way than with two underscores: `score_gt`, `score[gt]`. */
const otherJoint = new RegExp(`^(.+?)(?:_(${operatorNames.join('|')})|\\[\\$?(${operatorNames.join('|')})\\])$`)

function suggestOperatorName({ fields }: FilterNames, name: string): string | undefined {
  const [, base = '', afterUnderscore, inBrackets] = otherJoint.exec(name) ?? []
  return fields.has(base) ? `${base}__${afterUnderscore ?? inBrackets}` : undefined
}

/** Operators by signs that some write into a URL: `score>3` has the name `score>3`, and `score>=3` the name `score>`. */
const signs = new Map([
  ['>', ['gt', 'gte']],
  ['<', ['lt', 'lte']],
  ['!', ['ne', 'ne']],
])

function suggestSignName({ fields }: FilterNames, name: string): string | undefined {
  const [, base = '', sign = '', rest] = /^([^<>!]+)([<>!])(.*)$/s.exec(name) ?? []
  const [alone, withEqualSign] = signs.get(sign) ?? []
  return fields.has(base) ? `${base}__${rest === '' ? withEqualSign : alone}` : undefined
}

/** Suggests a path for a relation and a field that are joined by a dot or by one underscore: `author.name`. */
function suggestPath(view: FilterNames, name: string): string | undefined {
  for (const { index } of name.matchAll(/[._]/g)) {
    const [first, rest] = [name.slice(0, index), name.slice(index + 1)]
    const relation = view.fields.get(first)?.relation ?? view.relations.get(first)
    if (relation && view.related(relation)?.fields.has(rest)) return `${first}__${rest}`
  }
  return undefined
}

/** An aggregate function that is written as a call: `sum(score)`. */
const functionCall = new RegExp(`^(${fieldFunctions.join('|')})\\((\\w+)\\)$`, 'i')

function suggestFunctionName({ fields }: FilterNames, name: string): string | undefined {
  const [, called = '', base = ''] = functionCall.exec(name) ?? []
  return fields.has(base) ? `${base}__${called.toLowerCase()}` : undefined
}

/**
 * Advice for an unknown operator, such as `use "ne"; `; empty if there is none.
 * @param supported operators of the field
 */
export function suggestOperator(unknown: string, supported: readonly OperatorName[]): string {
  const alias = operatorAliases.get(unknown)
  return alias !== undefined && supported.includes(alias.operator) ? `use ${alias.advice}; ` : ''
}

/** Advice for a value that the operator of a filter cannot take; empty if there is none. */
export function suggestForValue(name: string, operator: OperatorName, text: string): string {
  if (operator !== 'eq') return ''
  const field = name.replace(/__eq$/, '')
  if (/^(null|none)$/i.test(text)) return `; to find nulls, use ${field}__is=null`
  return text.includes(',') ? `; to compare with several values, use ${field}__in` : ''
}

/** Suggests the name for an ordering that has a direction after the field or a plus sign before it: `score desc`. */
function suggestSortName({ fields }: FilterNames, text: string): string | undefined {
  const [, name = '', direction] = /^[ +]?([^ :]+)(?:[ :](asc|desc))?$/i.exec(text) ?? []
  if (name === text || !fields.has(name)) return undefined
  return direction?.toLowerCase() === 'desc' ? `-${name}` : name
}
