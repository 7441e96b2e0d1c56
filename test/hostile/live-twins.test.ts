import fc from 'fast-check'
import { Comment, type LiveWorld, openLiveWorld, Project, Task } from '../support/live-world'
import { caseCount, timeFor } from './cases'

/**
 * Of two services, one has further changes: of records out of scope, of hidden fields, and of fields that the subscriber may not
 * read or has not selected. The subscribers of both receive the same events, byte for byte.
 */

const total = caseCount(25, 400)
const redTasks = [2, 3, 4, 5]
const blueTasks = [6, 7, 8]
const lists = [
  ['task/?fields=title,done', 'ann:red'],
  ['task/?fields=title&done=false', 'ann:red'],
  ['task/', 'guest:red'],
  ['task/?fields=title&include=project(fields:(id))', 'ann:red'],
  ['task/?fields=title&comments__text=x', 'ann:red'],
  ['task/2/?fields=title', 'ann:red'],
] as const

let worlds: readonly LiveWorld[]
beforeAll(async () => {
  worlds = [await openTwin(), await openTwin()]
})
afterAll(async () => {
  expect(worlds.flatMap(({ faults }) => faults)).toEqual([])
  for (const world of worlds) await world.close()
})

/** The task 1 is the marker; 2 to 5 are those of the team red, the others those of blue. */
function openTwin(): Promise<LiveWorld> {
  return openLiveWorld(
    {},
    {
      seed: async ({ manager }) => {
        await manager.insert(Project, [{ team: 'red' }, { team: 'blue' }])
        for (const id of [1, ...redTasks, ...blueTasks]) {
          await manager.insert(Task, { title: `t${id}`, project: { id: id <= 5 ? 1 : 2 } })
          await manager.insert(Comment, { text: 'x', task: { id } })
        }
      },
    },
  )
}

type Step = (world: LiveWorld) => Promise<unknown>

const red = fc.constantFrom(...redTasks)
const blue = fc.constantFrom(...blueTasks)
const word = fc.constantFrom('a', 'b', 'c')

/** Changes that the subscribers see. */
const seen: fc.Arbitrary<Step> = fc.oneof(
  fc.tuple(red, word).map(
    ([id, title]): Step =>
      (world) =>
        world.request(`PATCH task/${id}/`, { title }),
  ),
  fc.tuple(red, fc.boolean()).map(
    ([id, done]): Step =>
      (world) =>
        world.request(`PATCH task/${id}/`, { done }),
  ),
  red.map(
    (id): Step =>
      (world) =>
        world.request(`DELETE task/${id}/`),
  ),
  red.map(
    (id): Step =>
      (world) =>
        world.request(`POST task/${id}/restore/`),
  ),
)

const asBlue = 'bob:blue'
/** Changes that they must not see. */
const hidden: fc.Arbitrary<Step> = fc.oneof(
  fc.tuple(blue, word).map(
    ([id, title]): Step =>
      (world) =>
        world.request(`PATCH task/${id}/`, { title }, asBlue),
  ),
  blue.map(
    (id): Step =>
      (world) =>
        world.request(`DELETE task/${id}/`, undefined, asBlue),
  ),
  blue.map(
    (id): Step =>
      (world) =>
        world.request(`POST task/${id}/restore/`, undefined, asBlue),
  ),
  word.map(
    (title): Step =>
      (world) =>
        world.request('POST task/', [{ title, project_id: 2 }], asBlue),
  ),
  fc.tuple(red, word).map(
    ([id, secret]): Step =>
      (world) =>
        world.request(`PATCH task/${id}/`, { secret }),
  ),
  fc.tuple(red, fc.nat(5)).map(
    ([id, cost]): Step =>
      (world) =>
        world.request(`PATCH task/${id}/`, { cost }),
  ),
  fc.tuple(blue, word).map(
    ([id, title]): Step =>
      ({ dataSource }) =>
        dataSource.getRepository(Task).update(id, { title }),
  ),
  word.map(
    (name): Step =>
      ({ dataSource }) =>
        dataSource.getRepository(Project).update(2, { name }),
  ),
  word.map(
    (text): Step =>
      (world) =>
        world.request('POST comment/', { text, task_id: 6 }, asBlue),
  ),
)

const steps = fc.array(
  fc.oneof(
    seen.map((step) => ({ step, isHidden: false })),
    hidden.map((step) => ({ step, isHidden: true })),
  ),
  { minLength: 2, maxLength: 8 },
)

let marker = 0

test(
  'changes that a subscriber cannot see cause no event',
  async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (sequence) => {
        // Both services begin with the same state of the records that are seen.
        for (const world of worlds) {
          await world.dataSource.getRepository(Task).restore(redTasks)
          for (const id of redTasks) await world.dataSource.getRepository(Task).update(id, { title: 't', done: false })
        }
        const first = marker
        const received = await Promise.all(
          worlds.map(async (world, index) => {
            const readers = await Promise.all(lists.map(([path, user]) => world.watch(path, user)))
            /** Waits until all lists have reported what happened before. */
            const settle = async (position: number): Promise<void> => {
              const title = `m${first + position}`
              await world.request('PATCH task/1/', { title })
              for (const reader of readers.slice(0, -1)) await reader.waitFor(title)
            }
            await settle(0)
            for (const reader of readers.slice(0, -1)) reader.events.splice(0)
            for (const [position, { step, isHidden }] of sequence.entries()) {
              if (!isHidden || index === 0) await step(world)
              await settle(position + 1)
            }
            for (const reader of readers) reader.close()
            return readers.slice(0, -1).map(({ events }) => events.map(({ name, data }) => [name, data]))
          }),
        )
        marker += sequence.length + 1
        expect(received[0]).toEqual(received[1])
      }),
      { numRuns: total },
    )
  },
  timeFor(total),
)
