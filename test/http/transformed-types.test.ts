import { type ColumnOptions, EntitySchema, type ValueTransformer } from 'typeorm'
import { anonymous } from 'typeorm-resources'
import { apiOf } from '../client'
import { isMariadb, isPostgres } from '../world/leg'
import { openWorld, type World } from '../world/world'

/** Transformer of values that are never null. */
const transformer = <T, S>(to: (value: T) => S, from: (stored: S) => T): ValueTransformer => ({
  to: (value: T | null | undefined) => (value === null || value === undefined ? value : to(value)),
  from: (stored: S | null) => (stored === null ? null : from(stored)),
})
const inObject = transformer(
  (text: string) => ({ v: text.trim() }),
  ({ v }) => v,
)
const asText = transformer(
  (text: string) => text.trim(),
  (text) => text,
)

type Row = readonly [type: ColumnOptions, transformer: ValueTransformer, value: string | number | boolean]
/** Columns that the database can compare and sort. */
const compared: Readonly<Record<string, Row>> = {
  simple: [{ type: 'simple-json' }, inObject, 'abc'],
  ...(isPostgres && {
    jsonb: [{ type: 'jsonb' }, inObject, 'abc'],
    words: [{ type: 'tsvector' }, asText, `'abc'`],
  }),
  ...(isMariadb && { json: [{ type: 'json' }, inObject, 'abc'] }),
}
/** Columns that PostgreSQL can neither compare nor sort. */
const notCompared: Readonly<Record<string, Row>> = isPostgres
  ? {
      text: [{ type: 'json' }, inObject, 'abc'],
      number: [
        { type: 'json' },
        transformer(
          (value: number) => ({ v: value.toFixed() }),
          ({ v }) => Number(v),
        ),
        5,
      ],
      truth: [
        { type: 'json' },
        transformer(
          (value: boolean) => ({ v: value ? 1 : 0 }),
          ({ v }) => v === 1,
        ),
        true,
      ],
      instant: [
        { type: 'json' },
        transformer(
          (value: Date) => ({ v: value.toISOString() }),
          ({ v }) => new Date(v),
        ),
        '2024-02-29 10:20:30',
      ],
      point: [
        { type: 'point' },
        {
          to: (text?: string) => text?.trim(),
          from: (point: string | { x: number; y: number } | null) =>
            typeof point === 'object' && point !== null ? `${point.x},${point.y}` : point,
        },
        '1,2',
      ],
      polygon: [{ type: 'polygon' }, asText, '((0,0),(1,1),(1,0))'],
      circle: [
        { type: 'circle' },
        {
          to: (text?: string) => text?.trim(),
          from: (circle: string | { x: number; y: number; radius: number } | null) =>
            typeof circle === 'object' && circle !== null ? `<(${circle.x},${circle.y}),${circle.radius}>` : circle,
        },
        '<(1,2),3>',
      ],
      xml: [{ type: 'xml' }, asText, '<a/>'],
      path: [{ type: 'jsonpath' }, asText, '$."a"'],
      pairs: [{ type: 'hstore', hstoreType: 'string' }, asText, '"a"=>"1"'],
    }
  : {}

const Shown = new EntitySchema({
  name: 'shown',
  columns: {
    id: { type: Number, primary: true, generated: true },
    ...(Object.fromEntries(
      Object.entries({ ...compared, ...notCompared }).map(([name, [type, own]]) => [
        name,
        { ...type, nullable: true, transformer: own },
      ]),
    ) as Record<string, { type: 'text' }>),
  },
})

const Dated = new EntitySchema({
  name: 'dated',
  columns: {
    id: { type: Number, primary: true, generated: true },
    at: {
      type: isPostgres ? 'timestamp' : 'datetime',
      nullable: true,
      transformer: transformer(
        (value: Date) => new Date(value.getTime()),
        (value) => value,
      ),
    },
  },
})

let world: World
beforeAll(async () => {
  const auth = (): typeof anonymous => anonymous
  world = await openWorld({
    entities: [Shown, Dated],
    mount: { resources: [Shown, Dated].map((entity) => ({ entity, auth })) },
  })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})
const { get, ids, post } = apiOf(() => world.url)

/** Creates a record with the value and one without it. @returns their ids */
async function createTwo(field: string, value: unknown): Promise<readonly unknown[]> {
  const replies = [await post('shown', { [field]: value }), await post('shown', {})]
  expect(replies[0]?.json()).toMatchObject({ [field]: value })
  return replies.map((reply) => (reply.json() as { id: unknown }).id)
}

const filters = ['eq', 'ne', 'in', 'lt', 'lte', 'gt', 'gte'] as const

test.each(Object.entries(compared))(
  'Operators: a column with a transformer has the operators of its type: %s',
  async (field, row) => {
    const value = encodeURIComponent(String(row[2]))
    const [id, other] = await createTwo(field, row[2])
    for (const [operator, found] of Object.entries({ eq: [id], in: [id], lte: [id], gte: [id], ne: [], gt: [] })) {
      expect([operator, await ids(`shown/?${field}__${operator}=${value}`)]).toEqual([operator, found])
    }
    expect(await ids(`shown/?${field}__is=not_null`)).toEqual([id])
    expect(await ids(`shown/?id__in=${id},${other}&ordering=-${field}`)).toEqual([id, other])
  },
)

// Only PostgreSQL has column types that it cannot compare.
test('Operators: a column with a transformer that the database cannot compare only has the operator is', async () => {
  for (const [field, [, , sample]] of Object.entries(notCompared)) {
    const value = encodeURIComponent(String(sample))
    const [id, other] = await createTwo(field, sample)
    expect(await ids(`shown/?id__in=${id},${other}&${field}__is=null`)).toEqual([other])
    expect(await ids(`shown/?id__in=${id},${other}&${field}__is=not_null`)).toEqual([id])
    const queries = [
      ...filters.map((operator) => `${field}__${operator}=${value}`),
      `${field}__is=true`,
      `${field}__like=a%25`,
      `ordering=${field}`,
      `ordering=-${field}&after=`,
    ]
    for (const query of queries) expect([query, (await get(`shown/?${query}`)).status]).toEqual([query, 400])
  }
})

test('Date-times: a column with a transformer accepts the date-times that the database can store', async () => {
  for (const at of ['1000-01-01 00:00:00', '2024-02-29 10:20:30', '9999-12-31 23:59:59']) {
    expect((await post('dated', { at })).json()).toMatchObject({ at })
  }
  for (const at of ['0001-01-01 00:00:00', '0500-01-01 00:00:00']) {
    const reply = await post('dated', { at })
    if (isMariadb) expect(reply.json()).toMatchObject({ status: 400, errors: [{ field: 'at' }] })
    else expect(reply.json()).toMatchObject({ at })
  }
})
