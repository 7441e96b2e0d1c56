import type { ColumnOptions, ColumnType, EntitySchemaColumnOptions } from 'typeorm'
import {
  equalityOperators,
  type Json,
  nullOperators,
  type OperatorName,
  orderOperators,
  textOperators,
} from '../../../src/value/value-type'

/** Which operators a column takes, as docs/reference/types.md calls them. */
export const operatorsOf: Readonly<Record<TypeRow['filters'], readonly OperatorName[]>> = {
  all: textOperators,
  order: orderOperators,
  equality: equalityOperators,
  null: nullOperators,
}

/** Column types that behave alike: what goes in, what comes out, what finds it. */
export interface TypeRow {
  /** By TypeORM's names. */
  readonly types: readonly string[]
  readonly options?: ColumnOptions
  /** Their JSON in a few words, for docs/reference/types.md. */
  readonly json: string
  readonly filters: 'all' | 'order' | 'equality' | 'null'
  /** Values that are shown as they are sent. */
  readonly same: readonly Json[]
  /** Values that are shown in another form: sent, shown. */
  readonly shownAs?: readonly (readonly [Json, Json])[]
  /** Values that are answered with 400. */
  readonly refused: readonly Json[]
  /** Operators and texts that find the record of the first value. */
  readonly finds?: readonly Filter[]
  /** Operators and texts that do not. */
  readonly misses?: readonly Filter[]
  /** Texts of filters that are answered with 400. */
  readonly unreadable?: readonly string[]
  /** What SQL may put there: an expression, what is shown. It is found by that. */
  readonly stored?: readonly (readonly [string, Json])[]
  /** What SQL may put there and no filter can name. */
  readonly strange?: readonly (readonly [string, Json])[]
  /** What the test makes of the column before it begins, where TypeORM cannot. */
  readonly altered?: string
  /** The first line of TypeORM that has the types. */
  readonly since?: '1.1'
}

export type Filter = readonly [operator: OperatorName, text: string]

/** One column of the table that the tests make of the rows. */
export interface TypedColumn {
  /** As in SQL: `decimal(30,2)`. */
  readonly label: string
  /** Its resource: one for each row. */
  readonly resource: string
  /** Its field. */
  readonly name: string
  readonly type: string
  readonly row: TypeRow
}

/** What a driver has. */
export interface TypeTable {
  readonly rows: readonly TypeRow[]
  /** Never exposed (specification: Values in JSON), with the options that such a column needs. */
  readonly binary: readonly (readonly [string, ColumnOptions?])[]
  /** Refused at mount. */
  readonly without: readonly string[]
  /** Refused as arrays: TypeORM cannot write them, or the database has none. */
  readonly withoutArrays: readonly string[]
}

export function columnsOf({ rows }: TypeTable): readonly TypedColumn[] {
  return rows.flatMap((row, index) =>
    row.types.map((type) => {
      const label = row.altered ?? labelOf(type, row.options)
      return { label, resource: `row${index}`, name: nameOf(label), type, row }
    }),
  )
}

/** As in SQL. */
export function labelOf(
  type: string,
  { length, precision, scale, unsigned, array, hstoreType, enum: members }: ColumnOptions = {},
): string {
  const numbers = [length ?? precision, scale].filter((number) => number !== undefined).join(',')
  const ofNumbers = Array.isArray(members) && typeof members[0] === 'number' ? ' of numbers' : ''
  const as = hstoreType === undefined ? '' : ` as ${hstoreType}`
  return `${type}${numbers && `(${numbers})`}${unsigned ? ' unsigned' : ''}${array ? '[]' : ''}${as}${ofNumbers}`
}

/** A name of a property, which has no two underscores in a row. */
export function nameOf(label: string): string {
  return `c_${label.replace('[]', ' array').replace(/\W+/g, '_').replace(/_$/, '')}`
}

export function schemaColumn(type: string, options: ColumnOptions = {}): EntitySchemaColumnOptions {
  const { transformer: _, ...rest } = options
  return { ...(rest as Partial<EntitySchemaColumnOptions>), type: type as ColumnType, nullable: true }
}
