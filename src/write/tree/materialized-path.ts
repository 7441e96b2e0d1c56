import type { DbSession } from '../../connection/db-session'
import { dialectOf } from '../../dialect/dialect-of'
import { ApiError } from '../../errors'
import { columnSql } from '../../read/row'
import type { Bookkeeping } from './bookkeeping'
import { equalSql, runSql, type TreeNode, type TreeTable, updateSql } from './table'

/**
 * The keys from the root to a node, each followed by a full stop, as one text. TypeORM's own UPDATE for moves writes keys into
 * the text of SQL, and replaces what is equal to the start of a path in its middle too.
 */
export const materializedPath: Bookkeeping = {
  insert: (session, table, node, parent) => setPath(session, table, node, pathBelow(table, node, parent)),
  move: async (session, table, node, parent) => {
    const { dataSource } = session
    const [before, after] = [pathOf(node), pathBelow(table, node, parent)]
    // Of a row that was written without TypeORM nothing is known below it.
    if (before === '') return setPath(session, table, node, after)
    const path = pathColumn(session, table)
    const { length } = [...before]
    await runSql(session, (bind) => {
      const moved = dialectOf(dataSource).concatenate(bind(after), `SUBSTR(${path}, ${bind(length + 1)})`)
      const isBelow = dialectOf(dataSource).equalsText(`SUBSTR(${path}, 1, ${bind(length)})`, bind(before))
      return `${updateSql(session, table)} ${path} = ${moved} WHERE ${isBelow}`
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

/** @throws {ApiError} `bad-values`, for a key that TypeORM, which looks for paths by LIKE, would take for others */
function pathBelow({ metadata }: TreeTable, { reference }: TreeNode, parent: TreeNode | undefined): string {
  const own = reference.map(String)
  if (own.some((part) => /[.%_\\]/.test(part))) {
    const what = `the key of a ${metadata.name.toLowerCase()} must be without ".", "%", "_" and "\\"`
    throw new ApiError('bad-values', `${what}: it becomes a part of its materialized path`)
  }
  return `${parent === undefined ? '' : pathOf(parent)}${own.join('_')}.`
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
