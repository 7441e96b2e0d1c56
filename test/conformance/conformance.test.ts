import { openWorld, type World } from '../world/world'
import { testConformance } from './suite'

/** The suite asks a world of `seed.ts`: its own, or the one that already answers at `CONFORMANCE_URL`. */
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
