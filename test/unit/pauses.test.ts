import { setTimeout as sleep } from 'node:timers/promises'
import { nextPoll, startPauses } from '../../src/connection/pauses'

/** Long work of requests lets other requests run, and clients take turns. */

const clientAt = (address: string) => ({ address, principal: undefined, turnName: undefined })

test('however many requests one client has, its work and that of another one pause in turn', async () => {
  const ended: string[] = []
  const works = [...Array<string>(20).fill('192.0.2.1'), '192.0.2.2'].map(async (address) => {
    for (let step = 0; step < 10; step++) await nextPoll(clientAt(address))
    ended.push(address)
  })
  await Promise.all(works)
  expect(ended[0]).toBe('192.0.2.2')
})

test('work that has waited for a statement needs no pause', async () => {
  const pause = startPauses(clientAt('192.0.2.2'))
  await sleep(20)
  let hasPolled = false
  setImmediate(() => {
    hasPolled = true
  })
  await pause()
  expect(hasPolled).toBe(false)
})

test('work of more than 10 ms makes a pause', async () => {
  const pause = startPauses(clientAt('192.0.2.1'))
  let hasPolled = false
  setImmediate(() => {
    hasPolled = true
  })
  for (const start = performance.now(); performance.now() - start < 11; );
  await pause()
  expect(hasPolled).toBe(true)
})
