import { ApiError, type FieldErrors } from '../errors'
import { type Body, membersOf } from '../request/body'
import type { Limits } from '../request/limits'
import { nextName, totalName } from '../schema/nested-relations'
import type { NestedLinks, NestedList, NestedRelation, ResourceView } from '../schema/resource-view'

/** The members of a body for one record. */
export interface RecordBody {
  /** Path of the record in the whole body: `lines[1]`; empty for the whole body. */
  readonly path: string
  /** The members that are fields. */
  readonly fields: Body
  /** The members that contain related records. */
  readonly members: readonly MemberBody[]
}

/** Member of a body that contains related records or their keys. */
export type MemberBody = ListBody | LinksBody

/** Array of related records. */
export interface ListBody {
  readonly type: 'list'
  readonly relation: NestedList
  /** Path of the member in the whole body. */
  readonly path: string
  readonly records: readonly RecordBody[]
}

/** Array of keys of related records. */
export interface LinksBody {
  readonly type: 'links'
  readonly relation: NestedLinks
  readonly path: string
  /** The keys, with their positions in the array. A key that occurs twice is in this list once. */
  readonly keys: readonly { readonly key: unknown; readonly index: number }[]
}

/** Number of levels of related records. Keys of many-to-many relations do not count as a level. */
export const maxNestedLevels = 2

/**
 * Separates the fields of a body from the members with related records (specification: Nested writes).
 * @param replaces whether the stored related records that are not in the body are deleted
 * @param errors receives every error in the structure
 * @throws {ApiError} `bad-body` if there are too many related records
 */
export function parseNestedBody(
  view: ResourceView,
  body: Body,
  replaces: boolean,
  { nested: maxRecords }: Pick<Limits, 'nested'>,
  errors: FieldErrors,
): RecordBody {
  let count = 0
  const countRecords = (records: readonly unknown[]): void => {
    count += records.length
    if (count > maxRecords) throw new ApiError('bad-body', `the body has more than ${maxRecords} related records`)
  }

  const parseRecord = (parent: ResourceView, all: Body, path: string, level: number): RecordBody => {
    const relations = parent.nested()
    if (relations.size === 0) return { path, fields: all, members: [] }
    const fields = new Map(all)
    const members: MemberBody[] = []
    for (const relation of relations.values()) {
      const { name } = relation
      const json = all.get(name)
      const hasMember = fields.delete(name)
      if (relation.type === 'list') removeSentBack(relation, fields, hasMember, errors.within(path))
      else refuseRecords(parent, relation, fields, errors.within(path))
      if (hasMember) members.push(...parseMember(relation, json, join(path, name), level))
    }
    return { path, fields, members }
  }

  const parseMember = (relation: NestedRelation, json: unknown, path: string, level: number): readonly MemberBody[] => {
    const what = relation.type === 'list' ? 'objects' : 'ids'
    if (!Array.isArray(json)) errors.add(path, `must be an array of ${what}`)
    else if (relation.type === 'links') return [parseLinks(relation, json, path)]
    else if (level === maxNestedLevels)
      errors.add(path, `is nested too deeply: ${maxNestedLevels} levels of records are allowed`)
    else return [parseList(relation, json, path, level)]
    return []
  }

  const parseList = (relation: NestedList, json: readonly unknown[], path: string, level: number): ListBody => {
    countRecords(json)
    const records = json.flatMap((record, index) => {
      const recordPath = `${path}[${index}]`
      if (typeof record === 'object' && record !== null && !Array.isArray(record)) {
        return [parseRecord(relation.target, membersOf(record), recordPath, level + 1)]
      }
      errors.add(recordPath, 'must be an object')
      return []
    })
    return { type: 'list', relation, path, records }
  }

  const parseLinks = (relation: NestedLinks, json: readonly unknown[], path: string): LinksBody => {
    countRecords(json)
    const { valueType } = relation.target.key
    const keys = new Map<unknown, { readonly key: unknown; readonly index: number }>()
    for (const [index, id] of json.entries()) {
      const key = errors.try(`${path}[${index}]`, () => valueType.fromJson(id))
      if (key !== undefined && !keys.has(valueType.toJson(key))) keys.set(valueType.toJson(key), { key, index })
    }
    return { type: 'links', relation, path, keys: [...keys.values()] }
  }

  /** Refuses related records in place of their keys. */
  const refuseRecords = (
    parent: ResourceView,
    { name, relation: { propertyPath } }: NestedLinks,
    fields: Map<string, unknown>,
    recordErrors: FieldErrors,
  ): void => {
    if (propertyPath === name || parent.writableFields.has(propertyPath) || !fields.delete(propertyPath)) return
    recordErrors.add(propertyPath, `is written as ${name}, an array of ids`)
  }

  /** Removes what `include` has added next to the list, so that a client can send back what it has read. */
  const removeSentBack = (
    { name }: NestedList,
    fields: Map<string, unknown>,
    hasList: boolean,
    recordErrors: FieldErrors,
  ): void => {
    const [nextMember, totalMember] = [nextName(name), totalName(name)]
    const next = fields.has(nextMember) ? fields.get(nextMember) : ''
    fields.delete(nextMember)
    fields.delete(totalMember)
    if (!hasList || !replaces || next === '') return
    recordErrors.add(nextMember, `must be empty: ${name} is not complete, and the rest would be deleted; use PATCH`)
  }

  return parseRecord(view, body, '', 0)
}

function join(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`
}
