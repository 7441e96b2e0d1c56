import { leg } from '../../world/leg'
import { mariadbTypes } from './mariadb'
import { postgresTypes } from './postgres'
import { columnsOf, type TypeTable } from './row'
import { sqliteTypes } from './sqlite'
import { uuids, uuidTexts } from './texts'

/** MySQL has no UUIDs: TypeORM keeps them as text there. */
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

/** The types of the leg's driver. */
export const legTable = tables[leg.driver]

/** A column for each that the leg's line of TypeORM has. */
export const legColumns = columnsOf(legTable).filter(
  ({ row }) => row.since === undefined || leg.name.startsWith(row.since),
)
