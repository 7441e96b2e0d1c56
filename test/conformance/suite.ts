import { type Reply, send } from '../client'
import { canaries } from '../world/seed'
import type { Scenario, Step } from './case'
import { accessScenarios } from './cases/access'
import { bodyScenarios } from './cases/bodies'
import { filterScenarios } from './cases/filters'
import { hostileScenarios } from './cases/hostile'
import { listScenarios } from './cases/lists'
import { recordScenarios } from './cases/records'
import { threatScenarios } from './cases/threats'
import { writeScenarios } from './cases/writes'

const tables = {
  records: recordScenarios,
  lists: listScenarios,
  filters: filterScenarios,
  bodies: bodyScenarios,
  writes: writeScenarios,
  access: accessScenarios,
  'hostile input': [...hostileScenarios, ...threatScenarios],
}

/**
 * Declares a test for each scenario.
 * @param keys converts the keys in a step for entities with other keys, and says whether all keys are numbers
 */
export function testConformance(
  url: () => string,
  keys: { readonly step: (step: Step) => Step; readonly areNumbers: boolean } = {
    step: (step) => step,
    areNumbers: true,
  },
): void {
  describe.each(Object.entries(tables))('%s', (_, scenarios: readonly Scenario[]) => {
    const applicable = scenarios.filter(({ steps }) => keys.areNumbers || !steps.some(({ numericKeys }) => numericKeys))
    test.each(applicable.map((scenario) => [scenario.rule, scenario] as const))('%s', async (_rule, { steps }) => {
      let id = ''
      for (const step of steps.map(keys.step)) {
        const request = step.request.replaceAll('{id}', id)
        const reply = await send(url(), request, step)
        check(request, step, reply)
        if (request.startsWith('POST') && reply.status === 201) id = String((reply.json() as { id: unknown }).id)
      }
    })
  })
}

function check(request: string, step: Step, reply: Reply): void {
  const seen = { request, status: reply.status, ...(reply.status === step.status ? {} : { text: reply.text }) }
  expect(seen).toEqual({ request, status: step.status })
  if (step.text !== undefined) expect(reply.text).toBe(step.text)
  if (step.json !== undefined) expect(reply.json()).toEqual(step.json)
  if (step.has !== undefined) expect(reply.json()).toMatchObject(step.has)
  if (step.ids !== undefined) {
    const { objects } = reply.json() as { objects: readonly { id: unknown }[] }
    expect(objects.map((object) => object.id)).toEqual(step.ids)
  }
  for (const [name, value] of Object.entries(step.responseHeaders ?? {})) {
    expect({ [name]: reply.headers[name.toLowerCase()] ?? null }).toEqual({ [name]: value })
  }
  checkProblem(step, reply)
  for (const canary of canaries) expect(reply.text).not.toContain(canary)
}

/** Every refusal but the specified 401 is a problem document (specification: Error documents). */
function checkProblem(step: Step, reply: Reply): void {
  if (reply.status < 400 || reply.status === 401 || isKoa404(reply) || reply.text === '') return
  expect(reply.headers['content-type']).toBe('application/problem+json; charset=utf-8')
  const problem = reply.json() as {
    status: number
    detail: string
    type: string
    title: string
    errors?: { field: string }[]
  }
  expect(problem).toMatchObject({
    status: reply.status,
    type: expect.stringMatching(/^urn:/),
    title: expect.any(String),
  })
  if (step.errorFields !== undefined) {
    const fields = (problem.errors ?? []).map(({ field }) => field)
    expect(fields.toSorted()).toEqual([...step.errorFields].toSorted())
  }
  for (const part of step.detailParts ?? []) expect(problem.detail).toContain(part)
}

/** Koa's own response to a path that does not belong to the service (specification: Paths). */
function isKoa404(reply: Reply): boolean {
  return reply.status === 404 && reply.text === 'Not Found'
}
