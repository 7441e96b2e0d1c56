import type { DataSource } from 'typeorm'

/** Options of mysql2 that change the values that it returns. */
interface MysqlOptions {
  readonly timezone?: string
  readonly dateStrings?: boolean | readonly string[]
  readonly supportBigNumbers?: boolean
}

/** The options that TypeORM passes to mysql2: those in `extra` take precedence over those of the data source. */
export function mysqlOptionsOf({ options }: DataSource): MysqlOptions {
  return { ...options, ...Object(options.extra) }
}
