import type { DataSource } from 'typeorm'
import { type Reply, send } from '../client'
import { Item, Parcel, Season } from './entities'
import { createSource, type SourceOptions } from './site'

/** Number of records that one request writes. */
const recordCount = 1000
/** Index of the record on which the subscriber of parcels acts. */
const markedIndex = 700
/** Index of the first record of the second part. */
const secondPart = 600

/** What the subscriber of parcels does at the marked record. */
export type Mark = 'nothing' | 'hold' | 'throw'

/** Resources without and with a subscriber. */
const packedResources = { item: Item, parcel: Parcel } as const
export type PackedResource = keyof typeof packedResources

/** A kind of request that writes many records. */
export interface ManyWrite {
  readonly what: string
  /** Records before and after the request, as {@link PackedRecords.summary} returns them. */
  readonly before: string
  readonly after: string
  readonly send: (url: string, resource: PackedResource, pack: number, mark: Mark) => Promise<Reply>
}

/** Tag of a record. */
export function tagOf(pack: number, index: number, mark: Mark = 'nothing'): string {
  return `${pack}-${index}${index === markedIndex && mark !== 'nothing' ? `-${mark}` : ''}`
}

function recordsOf(pack: number, mark: Mark) {
  return Array.from({ length: recordCount }, (_, index) => ({
    pack,
    part: index < secondPart ? 0 : 1,
    tag: tagOf(pack, index, mark),
  }))
}

const unchanged = 'part 0 state 0: 600, part 1 state 0: 400'
const ndjson = { 'Content-Type': 'application/x-ndjson' }

export const manyWrites: readonly ManyWrite[] = [
  {
    what: 'a POST of 1,000',
    before: '',
    after: unchanged,
    send: (url, resource, pack, mark) => send(url, `POST /api/${resource}/`, { body: recordsOf(pack, mark) }),
  },
  {
    what: 'an import of 1,000',
    before: '',
    after: unchanged,
    send: (url, resource, pack, mark) => {
      const body = recordsOf(pack, mark)
        .map((record) => JSON.stringify(record))
        .join('\n')
      return send(url, `POST /api/${resource}/`, { body, headers: ndjson })
    },
  },
  {
    what: 'a PATCH of 1,000',
    before: unchanged,
    after: 'part 0 state 1: 600, part 1 state 1: 400',
    send: (url, resource, pack) => send(url, `PATCH /api/${resource}/?pack=${pack}`, { body: { state: 1 } }),
  },
  {
    what: 'a DELETE of 1,000',
    before: unchanged,
    after: '',
    send: (url, resource, pack) => send(url, `DELETE /api/${resource}/?pack=${pack}`),
  },
  {
    what: 'a batch',
    before: unchanged,
    after: 'part 0 state 1: 600, part 2 state 0: 300, part 3 state 300: 1',
    send: (url, resource, pack) => {
      const path = `/api/${resource}/`
      const added = Array.from({ length: 300 }, (_, index) => ({ pack, part: 2, tag: `${pack}-added-${index}` }))
      const body = [
        { method: 'PATCH', path: `${path}?pack=${pack}&part=0`, body: { state: 1 } },
        { method: 'DELETE', path: `${path}?pack=${pack}&part=1` },
        { method: 'POST', path, body: added },
        { method: 'POST', path, body: { pack, part: 3, tag: `${pack}-last`, state: { $ref: '2.meta.created' } } },
      ]
      return send(url, 'POST /api/-/batch', { body })
    },
  },
]

/** The stored records, on a connection besides that of the site. */
export interface PackedRecords {
  /** Inserts the records that a request needs. */
  readonly prepare: (write: ManyWrite, resource: PackedResource, pack: number, mark?: Mark) => Promise<void>
  /** The number of stored records of a pack, by part and state. */
  readonly summary: (resource: PackedResource, pack: number) => Promise<string>
  readonly addSeasons: (count: number) => Promise<void>
  readonly close: () => Promise<void>
}

/** Opens a connection of the test to the database of a site. */
export async function openPackedRecords(source: SourceOptions): Promise<PackedRecords> {
  const dataSource = await createSource({ ...source, synchronize: false, subscribers: [] }).initialize()
  return {
    prepare: async ({ before }, resource, pack, mark = 'nothing') => {
      if (before !== '') await insertAll(dataSource, resource, pack, mark)
    },
    summary: async (resource, pack) => {
      const rows: readonly Record<string, unknown>[] = await dataSource.query(
        `SELECT part, state, COUNT(*) AS total FROM ${resource} WHERE pack = ${pack} GROUP BY part, state ORDER BY part, state`,
      )
      return rows.map(({ part, state, total }) => `part ${part} state ${state}: ${total}`).join(', ')
    },
    addSeasons: async (count) => {
      await dataSource
        .getRepository(Season)
        .insert(Array.from({ length: count }, (_, index) => ({ name: `s${index}` })))
    },
    close: () => dataSource.destroy(),
  }
}

async function insertAll(dataSource: DataSource, resource: PackedResource, pack: number, mark: Mark): Promise<void> {
  const records = recordsOf(pack, mark)
  const insert = (some: typeof records): Promise<unknown> =>
    dataSource.createQueryBuilder().insert().into(packedResources[resource]).values(some).updateEntity(false).execute()
  // SQLite has a limit on the parameters of a statement.
  for (let start = 0; start < records.length; start += 250) await insert(records.slice(start, start + 250))
}
