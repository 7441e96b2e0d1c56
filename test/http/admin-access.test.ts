import { createAccessControl } from '../../src/admin/access-control'
import { basic } from '../client'
import { openTracker, type Tracker } from '../support/tracker'
import { openWorld, type World } from '../world/world'

/** What admin applications offer to their users: canAccess of react-admin, and the access control provider of Refine. */

let tracker: Tracker
/** Requests since the last call: the paths. */
const requests: string[] = []

const fetchAs =
  (name: string): typeof fetch =>
  (input, init) => {
    requests.push(new URL(String(input)).pathname)
    return fetch(input, { ...init, headers: { Authorization: basic(name) } })
  }

beforeAll(async () => {
  tracker = await openTracker()
})
beforeEach(() => void requests.splice(0))
afterAll(() => tracker.close())

test.each<[who: string, resource: string, action: string, isOffered: boolean]>([
  ['ann', 'company', 'list', true],
  ['ann', 'company', 'show', true],
  ['ann', 'company', 'edit', true],
  ['ann', 'company', 'create', false],
  ['ann', 'company', 'clone', false],
  ['ann', 'company', 'delete', false],
  ['ann', 'company', 'export', true],
  ['bob', 'task', 'delete', true],
  ['fay', 'project.budget', 'read', true],
  ['bob', 'project.budget', 'read', false],
  ['bob', 'project.budget', 'write', false],
  ['bob', 'project.name', 'read', true],
  ['bob', 'project.name', 'write', true],
  ['bob', 'project.id', 'write', false],
  ['bob', 'dashboard', 'list', true],
  ['bob', 'dashboard.title', 'read', true],
  ['bob', 'company', 'archive', true],
])('%s: %s %s', async (who, resource, action, isOffered) => {
  const access = createAccessControl(`${tracker.world.url}/api/`, { fetch: fetchAs(who) })
  expect(await access.canAccess({ action, resource })).toBe(isOffered)
  expect(await access.accessControlProvider.can({ action, resource })).toEqual({ can: isOffered })
  expect(requests).toEqual(['/api/openapi.json', '/api/-/session'])
})

test("Refine's action field asks for a field of the resource", async () => {
  const { accessControlProvider } = createAccessControl(`${tracker.world.url}/api`, { fetch: fetchAs('bob') })
  const canSee = async (field: string): Promise<boolean> =>
    (await accessControlProvider.can({ action: 'field', resource: 'project', params: { field } })).can
  expect([await canSee('budget'), await canSee('name')]).toEqual([false, true])
  expect((await accessControlProvider.can({ action: 'list' })).can).toBe(true)
})

test('after a reset, the document is requested for the next user', async () => {
  let who = 'fay'
  const access = createAccessControl(`${tracker.world.url}/api`, { fetch: (input, init) => fetchAs(who)(input, init) })
  const seesBudget = (): Promise<boolean> => access.canAccess({ action: 'read', resource: 'project.budget' })
  expect(await seesBudget()).toBe(true)
  who = 'bob'
  access.reset()
  expect(await seesBudget()).toBe(false)
})

test('a failed request is repeated the next time', async () => {
  let isBroken = true
  const broken: typeof fetch = (input, init) =>
    isBroken ? Promise.reject(new TypeError('fetch failed')) : fetchAs('bob')(input, init)
  const access = createAccessControl(`${tracker.world.url}/api`, { fetch: broken })
  const params = { action: 'create', resource: 'company' }
  await expect(access.canAccess(params)).rejects.toThrow('fetch failed')
  isBroken = false
  expect(await access.canAccess(params)).toBe(false)
})

describe('resources for administrators', () => {
  let world: World
  beforeAll(async () => {
    world = await openWorld()
  })
  afterAll(() => world.close())

  test.each([
    ['ann', true],
    ['bob', false],
  ])('%s', async (who, isOffered) => {
    const { canAccess } = createAccessControl(`${world.url}/api`, { fetch: fetchAs(who) })
    expect(await canAccess({ action: 'list', resource: 'user' })).toBe(isOffered)
  })

  test('without the document, everything is offered', async () => {
    const hidden = await openWorld({ mount: { openapi: false } })
    const { canAccess } = createAccessControl(`${hidden.url}/api`, { fetch: fetchAs('bob') })
    expect(await canAccess({ action: 'list', resource: 'user' })).toBe(true)
    await hidden.close()
  })
})
