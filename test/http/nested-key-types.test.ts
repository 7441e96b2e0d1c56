import { EntitySchema, type EntitySchemaColumnOptions } from 'typeorm'
import { apiOf } from '../client'
import { permitAll } from '../support/access'
import { isMariadb } from '../world/leg'
import { openWorld, type World } from '../world/world'
import { legColumns } from './types/leg-table'
import { pairsOf } from './types/pairs'
import { operatorsOf, schemaColumn, type TypedColumn } from './types/row'

/**
 * A nested PUT finds the stored records by their keys. For each kind of column that a key can have, it updates a record whose key
 * the database considers equal to the one in the body, and replaces every other one.
 */

/** Integers, texts, UUIDs, enums and dates. MySQL needs a length for a text in a key, which TypeORM cannot declare. */
const keyType = isMariadb
  ? /int(eger)?\d?$|char|uuid|enum|^date$|^year$/
  : /int(eger)?\d?$|char|clob|text|uuid|enum|^date$/
const keyTypes = legColumns.filter(
  ({ row, type }) =>
    operatorsOf[row.filters].includes('eq') &&
    row.altered === undefined &&
    keyType.test(type) &&
    type === row.types.find((other) => keyType.test(other)),
)
const names = ({ name }: TypedColumn) => ({ sheet: `sheet_${name}`, line: `line_${name}` })
const schemaOf = (name: string, options: object): EntitySchema => new EntitySchema({ name, columns: {}, ...options })
const entities = keyTypes.flatMap((column) => {
  const { sheet, line } = names(column)
  const key = { ...schemaColumn(column.type, column.row.options), nullable: false, primary: true }
  const number: EntitySchemaColumnOptions = { type: Number, primary: true, generated: true }
  return [
    schemaOf(sheet, {
      columns: { id: number },
      relations: { lines: { type: 'one-to-many', target: line, inverseSide: 'sheet' } },
    }),
    schemaOf(line, {
      columns: { id: key, note: { type: String, default: 'none' } },
      relations: { sheet: { type: 'many-to-one', target: sheet, inverseSide: 'lines' } },
    }),
  ]
})

let world: World
beforeAll(async () => {
  const resources = entities.map((entity) => ({
    entity,
    auth: permitAll,
    ...(entity.options.name.startsWith('sheet') && { nested: ['lines'] }),
  }))
  world = await openWorld({ entities, mount: { resources } })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

const { get, post, put } = apiOf(() => world.url)

const objectsOf = async (path: string): Promise<readonly { readonly note: string }[]> => {
  const reply = await get(path)
  return reply.status === 200 ? (reply.json() as { readonly objects: { readonly note: string }[] }).objects : []
}

test.each(keyTypes.map((column) => [column.label, column] as const))('%s', async (_, column) => {
  const { sheet, line } = names(column)
  const { id } = (await post(sheet, {})).json() as { readonly id: number }
  const path = `${sheet}/${id}`
  let equalPairs = 0
  for (const [value, other] of pairsOf(column)) {
    if ((await put(path, { lines: [{ id: value, note: 'kept' }] })).status !== 200) continue
    const isEqual = (await objectsOf(`${line}/?id=${encodeURIComponent(String(other))}`)).length === 1
    const { status, text } = await put(path, { lines: [{ id: other }] })
    if (status === 400) continue
    const notes = (await objectsOf(`${line}/`)).map(({ note }) => note)
    expect({ value, other, status, text, notes }).toEqual({
      value,
      other,
      status: 200,
      text,
      notes: [isEqual ? 'kept' : 'none'],
    })
    if (isEqual) equalPairs++
  }
  expect(equalPairs).toBeGreaterThan(0)
})
