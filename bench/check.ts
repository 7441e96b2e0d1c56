import { deepStrictEqual } from 'node:assert/strict'
import type { Running } from './process'
import type { BenchRequest, Work } from './work'

/** Hand-written servers must give the answers that ours gives, byte by byte: else they would be measured at something else. */
const sameBytes: ReadonlyMap<string, string> = new Map([
  ['limit', 'ours'],
  ['node-http', 'ours'],
  ['limit-postgres', 'ours-postgres'],
])
const compared: readonly Work[] = ['list', 'filter', 'join', 'deepPage', 'item', 'list500', 'update']

export async function checkAnswers(running: readonly Running[]): Promise<void> {
  for (const work of compared) {
    for (const one of running) {
      const model = running.find(({ contestant }) => contestant.name === sameBytes.get(one.contestant.name))
      if (model === undefined) continue
      for (const pick of [0, 1, 2, 17]) {
        const own: string = await ask(one, work, pick)
        const expected: string = await ask(model, work, pick)
        deepStrictEqual(own, expected, `${one.contestant.name} answers ${work} otherwise`)
      }
    }
  }
}

async function ask({ contestant, origin }: Running, work: Work, pick: number): Promise<string> {
  const request = contestant.requests[work]?.(pick)
  if (request === undefined) return ''
  const { path, ...options }: BenchRequest = request
  const response = await fetch(`${origin}${path}`, options)
  return `${response.status} ${await response.text()}`
}
