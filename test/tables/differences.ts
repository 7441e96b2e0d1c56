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
    mariadb: 'by the collation of the column, which ignores case by default',
  },
  unique: {
    what: 'whether a text that differs from a unique one only in case or accents is a 409',
    sqlite: 'no',
    postgres: 'no; yes for `citext`',
    mariadb: 'by the collation; by default it is',
  },
  integer: {
    what: 'greatest value of `int`',
    sqlite: '9007199254740991',
    postgres: '2147483647',
    mariadb: '2147483647',
  },
  decimal: {
    what: 'digits of a `decimal`',
    sqlite: '15, because it is stored as a double',
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
    postgres: '`ab`, padded with spaces',
    mariadb: '`ab`',
  },
  uuid: {
    what: 'a UUID in upper case',
    sqlite: 'stored as sent; differs from the same UUID in lower case',
    postgres: 'stored in lower case; equal to the same UUID in lower case',
    mariadb: 'stored in lower case; equal to the same UUID in lower case',
  },
  enum: {
    what: 'order of a `simple-enum`',
    sqlite: 'by name',
    postgres: 'as its members are listed',
    mariadb: 'as its members are listed',
  },
  check: {
    what: 'a `@Check` of TypeORM',
    sqlite: 'created; a violation is 400',
    postgres: 'created; a violation is 400',
    mariadb: 'not created by TypeORM',
  },
} as const satisfies Readonly<Record<string, Difference>>
