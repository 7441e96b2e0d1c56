import { openWorld, type World } from '../world/world'
import { testConformance } from './suite'

/** The service that is tested: one of this process, or the one at `CONFORMANCE_URL`, whose database has the rows of `seed.ts`. */
let world: World | undefined
let url = process.env['CONFORMANCE_URL'] ?? ''

beforeAll(async () => {
  if (url !== '') return
  world = await openWorld()
  url = world.url
})
afterAll(async () => {
  await world?.close()
  expect(world?.faults ?? []).toEqual([])
})

testConformance(() => url)
