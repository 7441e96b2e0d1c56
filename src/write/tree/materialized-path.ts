import type { DbSession } from '../../connection/db-session'
import { dialectOf } from '../../dialect/dialect-of'
import { ApiError } from '../../errors'
import { columnSql } from '../../read/row'
import { equalSql, runSql } from '../plain-sql'
import type { Bookkeeping } from './bookkeeping'
import { type TreeNode, type TreeTable, updateSql } from './table'

/**
 * Materialized path: the keys from the root to a node, each followed by a dot, as one text. TypeORM's own UPDATE for
 * moves writes keys into the SQL text, and replaces the old path not only at the start of a path but also in its
 * middle.
 */
export const materializedPath: Bookkeeping = {
  containsReference: true,
  insert: (session, table, node, parent) => setPath(session, table, node, pathBelow(table, node, parent)),
  move: async (session, table, node, parent) => {
    const { dataSource } = session
    const [oldPath, newPath] = [pathOf(node), pathBelow(table, node, parent)]
    // The row was written without TypeORM and has no path: its descendants cannot be found by it.
    if (oldPath === '') return setPath(session, table, node, newPath)
    const path = pathColumn(session, table)
    const { length } = [...oldPath]
    await runSql(session, (bind) => {
      const movedPath = dialectOf(dataSource).concatenate(bind(newPath), `SUBSTR(${path}, ${bind(length + 1)})`)
      const startsWithOldPath = dialectOf(dataSource).equalsText(`SUBSTR(${path}, 1, ${bind(length)})`, bind(oldPath))
      return `${updateSql(session, table)} ${path} = ${movedPath} WHERE ${startsWithOldPath}`
    })
  },
  remove: async () => {},
}

function pathColumn({ dataSource }: DbSession, { position }: TreeTable): string {
  return position.map((column) => columnSql(dataSource, column)).join()
}

function pathOf({ position }: TreeNode): string {
  return String(position[0] ?? '')
}

/**
 * Path of a node below a parent.
 * @throws {ApiError} `bad-values` if the key is null or has a character with which TypeORM's LIKE on paths would match other
 * nodes
 */
function pathBelow({ metadata }: TreeTable, { reference }: TreeNode, parent: TreeNode | undefined): string {
  const keyParts = reference.map(String)
  const isPart = (part: string, index: number): boolean => reference[index] !== null && !/[.%_\\]/.test(part)
  if (!keyParts.every(isPart)) {
    const rule = `the key of a ${metadata.name.toLowerCase()} must not be null or contain ".", "%", "_" or "\\"`
    throw new ApiError('bad-values', `${rule}: it is a part of the materialized path`)
  }
  return `${parent === undefined ? '' : pathOf(parent)}${keyParts.join('_')}.`
}

async function setPath(session: DbSession, table: TreeTable, node: TreeNode, path: string): Promise<void> {
  const { dataSource } = session
  await runSql(
    session,
    (bind) =>
      `${updateSql(session, table)} ${pathColumn(session, table)} = ${bind(path)} ` +
      `WHERE ${equalSql(dataSource, table.key, node.key, bind)}`,
  )
}
