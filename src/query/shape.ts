import type { RelationMetadata } from '../schema/metadata'
import type { FilterNames, ResourceView } from '../schema/resource-view'
import type { Comparison, IncludedList, IncludedTable, JoinedCondition, Match, SortColumn } from './query'

/**
 * Part of a list query that depends only on the names in the request. It is cached for all requests with the same
 * names.
 */
export interface QueryShape extends JoinedCondition {
  /** Identifies the shape: two shapes of a mount with the same key are equal. */
  readonly cacheKey: string
  /** Names of the resource that the shape was built from. It refers to their fields. */
  readonly view: FilterNames
  readonly ordering: readonly SortColumn[]
  /**
   * Comparison of each filter of the request, by its index. Filters with the same name can share one. Undefined for a
   * filter with an error.
   */
  readonly filters: readonly (Comparison | undefined)[]
  /** Comparisons of each word of the search with each field. */
  readonly search: readonly (readonly Comparison[])[]
  /** Condition of the search, if it uses an index. */
  readonly match: Match | undefined
  /** Related resources whose access rules must permit reading them: those that filters and orderings lead to, also in includes. */
  readonly guardedViews: readonly FilterNames[]
  /** The related records that the records include. */
  readonly inclusion: InclusionShape
  /** The included records that the statement joins, at all depths. */
  readonly includedRecords: readonly RecordShape[]
}

/** The related records that a request includes in the records of a view, without values. */
export interface InclusionShape {
  readonly records: readonly RecordShape[]
  readonly lists: readonly ListShape[]
  /** Names of the resources whose records are included, at all depths. */
  readonly resources: readonly string[]
}

/** A related record, which the statement joins. */
export interface RecordShape extends IncludedTable {
  /** Path in the record: `['assignee']`. */
  readonly path: readonly string[]
  readonly inclusion: InclusionShape
  /** Position among the includes of the request. */
  readonly index: number
}

/** A list of related records, which a statement of its own reads. */
export interface ListShape {
  readonly path: readonly string[]
  readonly relation: RelationMetadata
  /** The view of the related records, with the selected fields only. */
  readonly view: ResourceView
  readonly shape: QueryShape
  readonly foreignKey: IncludedList['foreignKey']
  readonly index: number
}

const empty: InclusionShape = { records: [], lists: [], resources: [] }

/** The members of a query shape without includes. */
export const noInclusion = { inclusion: empty, includedRecords: [] } as const
