import { Agent } from 'node:http'
import fc from 'fast-check'
import { send } from '../client'
import { caseCount, timeFor } from '../hostile/cases'
import { isSqlite } from '../world/leg'
import { addHiddenColumns, variedSeed as seed } from '../world/vary'
import { type ModelWorld, openModelWorld } from './database'
import { entities } from './entities'
import { groupCases } from './group-requests'
import { type GroupCase, groupsEnvelope, groupsPath, mayOverflow } from './groups'
import { resourceNames } from './schema'

/**
 * The responses to lists with `aggregate` are the same as those of a model in plain JavaScript (`groups.ts`), which computes them from
 * all rows. The databases and the requests depend on the seed; `TEST_SEED` repeats them.
 */

const total = caseCount(1000, 75_000)
const databases = Math.max(2, Math.ceil(total / 2500))
/** Number of requests in flight. */
const clients = 4

addHiddenColumns(Object.values(entities))

const agent = new Agent({ keepAlive: true, maxSockets: clients })
afterAll(() => agent.destroy())

/** Number of requests of each kind, with which a test checks that the generated requests cover all kinds. */
const counts = { several: 0, filtered: 0, nextPage: 0, emptied: 0, nullKeys: 0, refused: 0 }

interface Envelope {
  readonly meta: { readonly next: string }
  readonly objects: readonly Readonly<Record<string, unknown>>[]
}

async function check({ world, rows }: ModelWorld, request: GroupCase): Promise<void> {
  const path = groupsPath(request)
  const reply = await send(world.url, `GET ${path}`, { agent })
  // SQLite adds integers of 64 bits.
  if (isSqlite && reply.status === 400 && mayOverflow(rows, request)) {
    counts.refused++
    return
  }
  if (reply.status !== 200) throw new Error(`GET ${path}: ${reply.status} ${reply.text}`)
  const expected = groupsEnvelope(rows, request) as Envelope
  const found = reply.json() as Envelope
  expect({ path, ...rounded(found, expected) }).toEqual({ path, ...expected })
  if (expected.objects.length > 1) counts.several++
  if (request.having.length > 0 && expected.objects.length > 0) counts.filtered++
  if (request.having.length > 0 && expected.objects.length === 0) counts.emptied++
  if (expected.meta.next !== '') counts.nextPage++
  if (expected.objects.some((group) => Object.values(group).includes(null))) counts.nullKeys++
}

/** Replaces averages that differ from the expected ones only by rounding. */
function rounded({ meta, objects }: Envelope, expected: Envelope): Envelope {
  return {
    meta,
    objects: objects.map((group, index) => {
      const entries = Object.entries(group).map(([name, value]) => {
        const other = expected.objects[index]?.[name]
        const isClose = name.endsWith('__avg') && typeof value === 'number' && isNear(value, Number(other))
        return [name, isClose ? other : value]
      })
      return Object.fromEntries(entries) as Envelope['objects'][number]
    }),
  }
}
const isNear = (one: number, other: number): boolean => Math.abs(one - other) <= 1e-14 * Math.abs(other)

describe.each(Array.from({ length: databases }, (_, index) => seed * 1000 + 500 + index))(
  `TEST_SEED=${seed}: the database of seed %i`,
  (own) => {
    let opened: ModelWorld
    beforeAll(async () => {
      // One resource has no rows.
      opened = await openModelWorld(own, resourceNames[own % 4])
    })
    afterAll(async () => {
      await opened.world.close()
      expect(opened.world.faults).toEqual([])
    })

    test(
      'groups are the same as those of the model',
      async () => {
        const numRuns = Math.ceil(total / databases / clients)
        const run = (client: number): Promise<void> => {
          const property = fc.asyncProperty(groupCases, async (request) => {
            await check(opened, request)
            // The recorded statements are not used.
            opened.world.statements()
          })
          return fc.assert(property, { seed: own * clients + client, numRuns, includeErrorInReport: true })
        }
        const all = await Promise.allSettled(Array.from({ length: clients }, (_, client) => run(client)))
        const failed = all.find((one) => one.status === 'rejected')
        if (failed !== undefined) throw failed.reason
      },
      timeFor(total),
    )
  },
)

test('the generated requests cover all kinds', () => {
  const least = { several: 0.1, filtered: 0.02, nextPage: 0.05, emptied: 0.02, nullKeys: 0.1, refused: 0 }
  const few = Object.entries(counts).filter(([name, count]) => count < total * least[name as keyof typeof least])
  expect(few).toEqual([])
})
