import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import { mapWithPauses, noteWork, pause } from '../../src/connection/pauses'
import { afterPause } from '../../src/sqlite-lock/statement-pauses'
import { loopCount } from '../../src/timers'
import { block } from '../support/block'

/** Long work of requests lets other requests run, and clients take turns. */

const clientAt = (address: string) => ({ address, principal: undefined, turnName: undefined, runner: undefined })

/** Waits for the next iteration of the event loop, in which no work has been done. */
async function startIteration(): Promise<void> {
  await setImmediate()
  await setImmediate()
  noteWork(performance.now())
}

test('however many requests one client has, its work and that of another one pause in turn', async () => {
  const ended: string[] = []
  const works = [...Array<string>(20).fill('192.0.2.1'), '192.0.2.2'].map(async (address) => {
    for (let step = 0; step < 4; step++) {
      block(11)
      await pause(clientAt(address))
    }
    ended.push(address)
  })
  await Promise.all(works)
  expect(ended[0]).toBe('192.0.2.2')
})

test('work in a transaction has every second turn', async () => {
  let turns = 0
  let turnsMeanwhile = 0
  const others = Array.from({ length: 20 }, async (_, number) => {
    for (let step = 0; step < 4; step++) {
      block(11)
      turns += 1
      await pause(clientAt(`192.0.2.${number}`))
    }
  })
  const transaction = async (): Promise<void> => {
    const before = turns
    for (let step = 0; step < 10; step++) {
      block(11)
      await pause({ ...clientAt('192.0.2.99'), runner: {} })
    }
    turnsMeanwhile = turns - before
  }
  await Promise.all([...others, transaction()])
  expect(turnsMeanwhile).toBeGreaterThan(7)
  expect(turnsMeanwhile).toBeLessThan(13)
})

test('work that has waited for a statement needs no pause', async () => {
  await startIteration()
  block(11)
  await sleep(20)
  const iteration = loopCount()
  await pause(clientAt('192.0.2.2'))
  expect(loopCount()).toBe(iteration)
})

test('work of more than 10 ms makes a pause', async () => {
  await startIteration()
  block(11)
  const iteration = loopCount()
  await pause(clientAt('192.0.2.1'))
  expect(loopCount()).toBeGreaterThan(iteration)
})

test('paused work goes on while timers are faked', async () => {
  await startIteration()
  block(11)
  const iteration = loopCount()
  jest.useFakeTimers({ doNotFake: ['performance'] })
  await pause(clientAt('192.0.2.1')).finally(() => jest.useRealTimers())
  expect(loopCount()).toBeGreaterThan(iteration)
})

test('the pause after statements ends while timers are faked', async () => {
  jest.useFakeTimers({ doNotFake: ['performance'] })
  await new Promise<void>(afterPause).finally(() => jest.useRealTimers())
})

test('the work of many requests whose rows arrive together is done in many iterations of the event loop', async () => {
  await startIteration()
  const iterations = new Map<number, number>()
  const works = Array.from({ length: 20 }, async () => {
    await mapWithPauses(clientAt('192.0.2.1'), [1, 2], () => {
      block(6)
      iterations.set(loopCount(), (iterations.get(loopCount()) ?? 0) + 1)
    })
  })
  await Promise.all(works)
  expect(Math.max(...iterations.values())).toBeLessThan(5)
})

test('short work of many requests continues in few iterations of the event loop', async () => {
  await startIteration()
  block(11)
  const iterations = new Set<number>()
  const works = Array.from({ length: 20 }, async () => {
    await pause(clientAt('192.0.2.1'))
    iterations.add(loopCount())
  })
  await Promise.all(works)
  expect(iterations.size).toBeLessThan(5)
})
