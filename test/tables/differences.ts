/**
 * Differences between databases that the service cannot hide. test/http/differences.test.ts checks them; docs/reference/databases.md
 * shows this table.
 */
export interface Difference {
  readonly what: string
  readonly sqlite: string
  readonly postgres: string
  readonly mariadb: string
}

export const differences = {
  order: {
    what: 'order of text, and so `lt` and `gt`',
    sqlite: 'by code point, unless the column has another collation',
    postgres: 'by the collation of the column',
    mariadb: 'by the collation of the column: whatever the case, by default',
  },
  unique: {
    what: 'a unique text in another case, or with an accent: 409?',
    sqlite: 'no',
    postgres: 'no; yes for `citext`',
    mariadb: 'yes, by default: the collation decides',
  },
  integer: {
    what: 'greatest value of `int`',
    sqlite: '9007199254740991',
    postgres: '2147483647',
    mariadb: '2147483647',
  },
  decimal: {
    what: 'digits of a `decimal`',
    sqlite: '15, since it is kept as a double',
    postgres: 'those of the column',
    mariadb: 'those of the column',
  },
  date: {
    what: 'first day of a `date`',
    sqlite: '0001-01-01',
    postgres: '0001-01-01',
    mariadb: '1000-01-01',
  },
  char: {
    what: '`ab` in a `character(4)`',
    sqlite: '`ab`',
    postgres: '`ab`, filled up with blanks',
    mariadb: '`ab`',
  },
  uuid: {
    what: 'a UUID in capital letters',
    sqlite: 'stays, and is another than in small ones',
    postgres: 'becomes small, and is the same',
    mariadb: 'becomes small, and is the same',
  },
  enum: {
    what: 'order of a `simple-enum`',
    sqlite: 'by name',
    postgres: 'as its members are listed',
    mariadb: 'as its members are listed',
  },
  check: {
    what: 'a `@Check` of TypeORM',
    sqlite: 'made, and answered by 400',
    postgres: 'made, and answered by 400',
    mariadb: 'not made by TypeORM',
  },
} as const satisfies Readonly<Record<string, Difference>>
