import { openWorld, type World, type WorldOptions } from '../world/world'

/**
 * Returns a function that opens worlds for the running test, and closes them after the test. Call it at the top level of a test file,
 * after hooks that must run before the worlds are closed.
 */
export function worldPerTest(): (options?: WorldOptions) => Promise<World> {
  const worlds: World[] = []
  afterEach(async () => {
    for (const world of worlds.splice(0)) await world.close()
  })
  return async (options) => {
    const world = await openWorld(options)
    worlds.push(world)
    return world
  }
}
