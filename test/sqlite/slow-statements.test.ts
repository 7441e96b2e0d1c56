import { Agent } from 'node:http'
import { Column, type DataSource, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { send } from '../client'
import { permitAll } from '../support/access'
import { openWorld, type World } from '../world/world'

/** Between two slow statements, other requests are handled, although the driver runs statements in the JavaScript thread. */

@Entity()
@Resource({ auth: permitAll, bulk: true })
class Note {
  @PrimaryGeneratedColumn() id!: number
  @Column() text!: string
}

const seed = async (dataSource: DataSource): Promise<void> => {
  await dataSource.query("INSERT INTO note (text) VALUES (replace(hex(zeroblob(2000)), '00', 'ab'))")
  for (let count = 1; count < 32_768; count *= 2) await dataSource.query('INSERT INTO note (text) SELECT text FROM note')
}

let iterations = 0
let timer = setImmediate(function count() {
  iterations++
  timer = setImmediate(count)
})
let world: World
/** The iteration of the event loop in which each response ended. */
const endings: number[] = []
beforeAll(async () => {
  world = await openWorld({
    entities: [Note],
    seed,
    before: (app) =>
      app.use(async (_, next) => {
        await next()
        endings.push(iterations)
      }),
  })
})
afterAll(async () => {
  clearImmediate(timer)
  await world.close()
  expect(world.faults).toEqual([])
})

test.each([
  ['lists', 'GET', ''],
  ['counts', 'GET', '&limit=0&count=exact'],
  ['bulk writes', 'DELETE', ''],
])('the slow statements of %s that arrive together', async (_, method, parameters) => {
  const numbers = [1, 2, 3, 4, 5, 6]
  const agent = new Agent({ keepAlive: true })
  const sendAll = (line: (number: number) => string) =>
    Promise.all(numbers.map((number) => send(world.url, line(number), { agent })))
  // Opens the connections, so that the requests after it arrive in the same iteration of the event loop.
  await sendAll((number) => `GET /api/note/${number}/`)
  endings.splice(0)
  const replies = await sendAll((number) => `${method} /api/note/?text__like=%25zz%25&id__ne=${number}${parameters}`)
  agent.destroy()
  expect(replies.map(({ status }) => status)).toEqual(numbers.map(() => 200))
  expect(new Set(endings).size).toBe(numbers.length)
})
