import type { Driver } from 'typeorm'

/** TypeORM's driver for MySQL and MariaDB with a member that its interface `Driver` does not declare. */
type MysqlDriver = Driver & {
  /** The module of mysql2. */
  readonly mysql?: { readonly setMaxParserCache?: (max: number) => void }
}

/**
 * Maximum number of row parsers that mysql2 keeps, for all data sources of the process. mysql2 compiles one for each
 * combination of columns in a result, and keeps 15,000 by default. Clients choose the columns, with `fields`, `include` and
 * `aggregate`: one of 50 columns takes 20 KB, so that 15,000 requests took 300 MB, which were never released.
 */
const maxRowParsers = 250

/** Limits the memory of row parsers. */
export function limitRowParsers({ mysql }: MysqlDriver): void {
  mysql?.setMaxParserCache?.(maxRowParsers)
}
