import type { DataSource } from 'typeorm'
import type { RawRow } from '../connection/statement'
import type { Dialect } from '../dialect/dialect'
import { dialectOf } from '../dialect/dialect-of'
import { type FieldSelection, narrowView } from '../query/field-selection'
import type { Policies } from '../query/policies'
import type { Query } from '../query/query'
import type { ResourceView } from '../schema/resource-view'
import type { ReadColumn } from '../schema/stored-column'
import type { Json } from '../value/value-type'
import { buildJsonRenderer, buildValueReader } from './json-value'
import { findLongColumns, type LongColumns } from './long-columns'
import { buildRawRenderer, buildRowRenderer, type RecordRenderer } from './record'
import { buildRowReader, type Row, type RowReader } from './row'
import { shownBytesOf } from './row-bytes'

/**
 * How the rows of a view are read from its database and rendered. It is built once for each view, and passed to every
 * function that reads or writes rows. Requests get a copy with their policies.
 */
export interface Store {
  readonly view: ResourceView
  readonly dataSource: DataSource
  readonly dialect: Dialect
  /** The columns that a query reads, by `Query.select`. */
  readonly selected: Readonly<Record<Query['select'], SelectedColumns>>
  /** Renders records from rows of values, which load listeners may have changed. */
  readonly rowRenderer: RecordRenderer<Row>
  /** Renders records from raw rows of the driver: the same records as `rowRenderer`, with fewer conversions. */
  readonly rawRenderer: RecordRenderer<RawRow>
  /** Renders the key of a raw row, which records show as `id`. */
  readonly renderKey: (raw: RawRow) => Json
  /** Returns the value of the key of a raw row. */
  readonly readKey: (raw: RawRow) => unknown
  /** Returns the approximate size of the JSON of a raw row's record, in bytes: see {@link shownBytesOf}. */
  readonly shownBytes: (raw: RawRow) => number
  /** Returns the store of a related view of the same principal, without policies. */
  readonly storeOf: (view: ResourceView) => Store
  /** The policies for the principal of a request; undefined if `Service.hasPolicies` is false. */
  readonly policies: Policies | undefined
}

/** Columns that a statement reads, in the order of its result. */
export interface SelectedColumns extends LongColumns {
  readonly all: readonly ReadColumn[]
  /** Throws `UnreadableError` if a transformer fails. */
  readonly readRow: RowReader
}

export function buildStore(view: ResourceView, dataSource: DataSource, storeOf: Store['storeOf']): Store {
  return {
    view,
    dataSource,
    dialect: dialectOf(dataSource),
    selected: {
      columns: buildSelectedColumns(view.columns, dataSource),
      entityColumns: buildSelectedColumns(view.entityColumns, dataSource),
      key: buildSelectedColumns(view.key.columns, dataSource),
    },
    ...buildRenderers(view, dataSource),
    storeOf,
    policies: undefined,
  }
}

function buildRenderers(
  view: ResourceView,
  dataSource: DataSource,
): Pick<Store, 'rowRenderer' | 'rawRenderer' | 'renderKey' | 'readKey' | 'shownBytes'> {
  return {
    rowRenderer: buildRowRenderer(view),
    rawRenderer: buildRawRenderer(view, dataSource),
    renderKey: buildJsonRenderer(view.key, view, dataSource),
    readKey: buildValueReader(view.key, view, dataSource),
    shownBytes: shownBytesOf(view),
  }
}

/**
 * Returns the store that reads and renders only the selected fields; the store itself without a selection. It is built for
 * each request: this takes 14 µs for 3 of 9 fields, and a cache would have to be cleared with those of the views.
 */
export function narrowStore(store: Store, selection: FieldSelection | undefined): Store {
  return selection === undefined ? store : withView(store, narrowView(store.view, selection))
}

/**
 * Returns the store that reads only the key and the owner, whose columns `select: 'columns'` then reads. The records may have long
 * values, which a check of many owners does not need.
 */
export function withOwners(store: Store): Store {
  const { view } = store
  const columns = [...new Set([...view.key.columns, ...(view.owner?.columns ?? [])])]
  return withView(store, { ...view, outputFields: [view.key], columns, cacheKey: `${view.cacheKey} owner` })
}

/** Returns the store that reads and renders the fields of a narrower view. */
export function withView(store: Store, view: ResourceView): Store {
  const { dataSource, selected } = store
  // With load listeners, a narrower view has the same columns. They take 300 bytes each, and stores are kept with query shapes.
  const isSame = view.columns === store.view.columns
  const columns = isSame ? selected.columns : buildSelectedColumns(view.columns, dataSource)
  return { ...store, view, selected: { ...selected, columns }, ...buildRenderers(view, dataSource) }
}

function buildSelectedColumns(columns: readonly ReadColumn[], dataSource: DataSource): SelectedColumns {
  return {
    all: columns,
    readRow: buildRowReader(columns, dataSource),
    ...findLongColumns(columns, dataSource),
  }
}
