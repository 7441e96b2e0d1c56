import Koa from 'koa'
import { EntitySchema } from 'typeorm'
import { mountResources } from 'typeorm-resources'
import { apiOf } from '../client'
import { permitAllAsUser1 } from '../support/access'
import { createDataSource, isMariadb, isPostgres } from '../world/leg'
import { openWorld, type World } from '../world/world'
import { legTable } from './types/leg-table'
import { labelOf, nameOf, schemaColumn } from './types/row'

const key = { type: Number, primary: true, generated: true } as const

const refusedColumns = [
  ...legTable.without.map((type) => [nameOf(type), type, {}] as const),
  ...legTable.withoutArrays.map((type) => [nameOf(`${type}[]`), type, { array: true }] as const),
]

test('column types without a JSON form are refused at mount, with their names and the fix', async () => {
  const columns = refusedColumns.map(([name, type, options]) => [name, schemaColumn(type, options)])
  const Shape = new EntitySchema({ name: 'Shape', columns: { id: key, ...Object.fromEntries(columns) } })
  const dataSource = await createDataSource({ entities: [Shape] })
  await dataSource.initialize()
  const mount = (exclude: readonly string[]): unknown =>
    mountResources(new Koa(), dataSource, { resources: [{ entity: Shape, exclude: [...exclude] }] })
  const sentences = refusedColumns.map(([name, type, options]) => {
    const column = { type: schemaColumn(type).type, length: '' }
    const stored = dataSource.driver.normalizeType(column)
    return `Shape: ${name} has the column type ${labelOf(stored, options)}, which has no JSON form here: exclude it`
  })
  try {
    expect(() => mount([])).toThrow(expect.objectContaining({ mistakes: sentences }))
    expect(() => mount(refusedColumns.map(([name]) => name))).not.toThrow()
  } finally {
    await dataSource.destroy()
  }
})

const binaryNames = legTable.binary.map(([type]) => nameOf(type))
let world: World
beforeAll(async () => {
  const columns = legTable.binary.map(([type, options]) => [nameOf(type), schemaColumn(type, options)])
  const Picture = new EntitySchema({ name: 'picture', columns: { id: key, ...Object.fromEntries(columns) } })
  world = await openWorld({ entities: [Picture], mount: { resources: [{ entity: Picture, auth: permitAllAsUser1 }] } })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

const { get, post } = apiOf(() => world.url)

test('Values in JSON: binary columns are hidden', async () => {
  const names = binaryNames.map((name) => `"${name}"`).join(', ')
  const bytes = isPostgres ? "'\\x63616e61'" : isMariadb ? "X'63616e61'" : "X'63616e61'"
  await world.sql(`INSERT INTO "picture" (${names}) VALUES (${binaryNames.map(() => bytes).join(', ')})`)
  expect((await get('picture/1/')).json()).toEqual({ id: 1 })
  expect((await get('picture/')).json()).toMatchObject({ objects: [{ id: 1 }] })
})

test.each(binaryNames)('Values in JSON: %s is treated as an unknown field', async (name) => {
  const unknown = { status: 400, errors: [{ field: name, message: 'is not a field of picture; fields: id' }] }
  for (const path of [`picture/?${name}=x`, `picture/?${name}__is=null`, `picture/?ordering=${name}`]) {
    expect((await get(path)).json()).toMatchObject({ status: 400 })
    expect((await get(path)).json()).toEqual(
      JSON.parse((await get(path.replace(name, 'nope'))).text.replaceAll('nope', name)),
    )
  }
  expect((await post('picture', { [name]: 'x' })).json()).toMatchObject(unknown)
})
