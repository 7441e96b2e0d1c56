import { isMariadb, isPostgres, leg } from '../../world/leg'
import { mariadbTypes } from './mariadb'
import { postgresTypes } from './postgres'
import { columnsOf } from './row'
import { sqliteTypes } from './sqlite'

/** The types of the leg's driver. */
export const legTable = isPostgres ? postgresTypes : isMariadb ? mariadbTypes : sqliteTypes

/** A column for each that the leg's line of TypeORM has. */
export const legColumns = columnsOf(legTable).filter(
  ({ row }) => row.since === undefined || leg.name.startsWith(row.since),
)
