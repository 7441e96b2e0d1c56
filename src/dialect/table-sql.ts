import type { DataSource, EntityMetadata } from 'typeorm'

/** The escaped name of a table, with its schema or database if the entity has one. */
export function tableSql({ driver }: DataSource, { tablePath }: EntityMetadata): string {
  return tablePath
    .split('.')
    .map((name) => driver.escape(name))
    .join('.')
}
