import type { ColumnOptions, ColumnType, EntitySchemaColumnOptions } from 'typeorm'
import {
  equalityOperators,
  type Json,
  nullOperators,
  type OperatorName,
  orderOperators,
  textOperators,
} from '../../../src/value/value-type'

/** The operators of each class of columns in docs/reference/types.md. */
export const operatorsOf: Readonly<Record<TypeRow['filters'], readonly OperatorName[]>> = {
  all: textOperators,
  order: orderOperators,
  equality: equalityOperators,
  null: nullOperators,
}

/** Column types with the same behavior: accepted values, shown values, and filters. */
export interface TypeRow {
  /** TypeORM's names of the types. */
  readonly types: readonly string[]
  readonly options?: ColumnOptions
  /** A short description of the JSON values, for docs/reference/types.md. */
  readonly json: string
  readonly filters: 'all' | 'order' | 'equality' | 'null'
  /** Values that are shown as they are sent. */
  readonly same: readonly Json[]
  /** Values that are shown in another form: sent, shown. */
  readonly shownAs?: readonly (readonly [Json, Json])[]
  /** Values that get 400. */
  readonly refused: readonly Json[]
  /** Operators and operands that find the record of the first value. */
  readonly finds?: readonly Filter[]
  /** Operators and operands that do not find it. */
  readonly misses?: readonly Filter[]
  /** Operands that get 400. */
  readonly unreadable?: readonly string[]
  /** Values that SQL can store: an expression, and the shown value, which finds the record. */
  readonly stored?: readonly (readonly [string, Json])[]
  /** Values that SQL can store and that no filter can find. */
  readonly strange?: readonly (readonly [string, Json])[]
  /** SQL that changes the column before the test, if TypeORM cannot declare it. */
  readonly altered?: string
  /** Whether the column has an index. */
  readonly indexed?: true
  /** The first version of TypeORM that has the types. */
  readonly since?: '1.1'
}

export type Filter = readonly [operator: OperatorName, text: string]

/** A column of the tables that are created from the rows. */
export interface TypedColumn {
  /** The type as in SQL: `decimal(30,2)`. */
  readonly label: string
  /** Name of its resource: one for each row. */
  readonly resource: string
  /** Name of its field. */
  readonly name: string
  readonly type: string
  readonly row: TypeRow
}

/** The column types of a driver. */
export interface TypeTable {
  readonly rows: readonly TypeRow[]
  /** Types that are always hidden (specification: Values in JSON), with the options that such a column needs. */
  readonly binary: readonly (readonly [string, ColumnOptions?])[]
  /** Types that are refused at mount. */
  readonly without: readonly string[]
  /** Types that are refused as arrays: TypeORM cannot write them, or the database has no such arrays. */
  readonly withoutArrays: readonly string[]
}

export function columnsOf({ rows }: TypeTable): readonly TypedColumn[] {
  return rows.flatMap((row, index) =>
    row.types.map((type) => {
      const label = `${row.altered ?? labelOf(type, row.options)}${row.indexed ? ' indexed' : ''}`
      return { label, resource: `row${index}`, name: nameOf(label), type, row }
    }),
  )
}

/** A type as in SQL. */
export function labelOf(
  type: string,
  { length, precision, scale, unsigned, array, hstoreType, enum: members }: ColumnOptions = {},
): string {
  const numbers = [length ?? precision, scale].filter((number) => number !== undefined).join(',')
  const ofNumbers = Array.isArray(members) && typeof members[0] === 'number' ? ' of numbers' : ''
  const as = hstoreType === undefined ? '' : ` as ${hstoreType}`
  return `${type}${numbers && `(${numbers})`}${unsigned ? ' unsigned' : ''}${array ? '[]' : ''}${as}${ofNumbers}`
}

/** A name of a property for a type, without two consecutive underscores. */
export function nameOf(label: string): string {
  return `c_${label.replace('[]', ' array').replace(/\W+/g, '_').replace(/_$/, '')}`
}

export function schemaColumn(type: string, options: ColumnOptions = {}): EntitySchemaColumnOptions {
  const { transformer: _, ...rest } = options
  return { ...(rest as Partial<EntitySchemaColumnOptions>), type: type as ColumnType, nullable: true }
}
