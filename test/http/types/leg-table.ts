import { leg } from '../../world/leg'
import { mariadbTypes } from './mariadb'
import { postgresTypes } from './postgres'
import { columnsOf, type TypeTable } from './row'
import { sqliteTypes } from './sqlite'
import { uuids, uuidTexts } from './texts'

/** TypeORM stores UUIDs as text with the driver mysql. */
const mysqlTypes: TypeTable = {
  ...mariadbTypes,
  rows: mariadbTypes.rows.map((row) => (row === uuids ? uuidTexts : row)),
}

const tables: Readonly<Record<typeof leg.driver, TypeTable>> = {
  'better-sqlite3': sqliteTypes,
  sqlite: sqliteTypes,
  postgres: postgresTypes,
  mariadb: mariadbTypes,
  mysql: mysqlTypes,
}

/** The column types of the leg's driver. */
export const legTable = tables[leg.driver]

/** A column of each type that the leg's version of TypeORM has. */
export const legColumns = columnsOf(legTable).filter(
  ({ row }) => row.since === undefined || leg.name.startsWith(row.since),
)
