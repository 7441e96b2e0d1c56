import type { DataSource, EntityTarget, ObjectLiteral } from 'typeorm'

/** Inserts rows in their order, in statements of up to 400 rows, and without reading generated values. */
export async function insertRows(
  { manager }: DataSource,
  entity: EntityTarget<ObjectLiteral>,
  rows: readonly object[],
): Promise<void> {
  for (let first = 0; first < rows.length; first += 400) {
    const values = rows.slice(first, first + 400)
    await manager.createQueryBuilder().insert().into(entity).values(values).updateEntity(false).execute()
  }
}
