import { gzipSync } from 'node:zlib'
import type { Middleware } from 'koa'
import { koaBody } from 'koa-body'
import bodyParser from 'koa-bodyparser'
import { IdempotencyKey } from 'typeorm-resources'
import { type SendOptions, send } from '../client'
import { entities } from '../world/entities'
import { openWorld, seedWorld, type World } from '../world/world'

const json = '{"title":"é + & = %","author_id":2,"extra":{"a":[1]}}'
const form = 'application/x-www-form-urlencoded'
const parts = `--limit\r\nContent-Disposition: form-data; name="data"\r\n\r\n${json}\r\n--limit--\r\n`

const bodies: readonly (readonly [string, string, string])[] = [
  ['JSON', 'application/json', json],
  ['a form', form, `data=${encodeURIComponent(json)}`],
  ['a multipart form', 'multipart/form-data; boundary=limit', parts],
]

const parsers: readonly (readonly [string, Middleware])[] = [
  ['koa-bodyparser', bodyParser()],
  ['koa-bodyparser with text', bodyParser({ enableTypes: ['json', 'form', 'text'] })],
  ['koa-body', koaBody({ multipart: true, includeUnparsed: true })],
]

describe.each(parsers)('Bodies: after %s', (_, parser) => {
  let world: World
  beforeAll(async () => {
    world = await openWorld({ entities, seed: seedWorld, before: (app) => app.use(parser) })
  })
  afterAll(() => world.close())

  const post = (type: string, body: string): ReturnType<typeof send> => {
    const options: SendOptions = { as: 'bob', headers: { 'Content-Type': type }, body }
    return send(world.url, 'POST /api/note/', options)
  }

  test.each(bodies)('%s', async (_what, type, body) => {
    const reply = await post(type, body)
    expect(reply.status).toBe(201)
    expect(reply.json()).toMatchObject({ title: 'é + & = %', extra: { a: [1] } })
  })

  test('JSON with the content type of a form, as curl -d sends it, is accepted', async () => {
    const reply = await post(form, '{"title":"x = y","author_id":2}')
    expect(reply.status).toBe(201)
    expect(reply.json()).toMatchObject({ title: 'x = y' })
  })

  test('a compressed body is refused, even if the parser has decompressed it', async () => {
    const headers = { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' }
    const reply = await send(world.url, 'POST /api/note/', { as: 'bob', headers, body: gzipSync(json) })
    expect([reply.status, reply.json()]).toMatchObject([415, { detail: expect.stringContaining('gzip') }])
  })

  test.each([
    ['an array', 'application/json', '[1]', 400],
    ['a form without data', form, 'title=x', 400],
    ['an empty form', form, '', 400],
    ['text', 'text/plain', json, 415],
  ])('%s is refused', async (_what, type, body, status) => {
    expect((await post(type, body)).status).toBe(status)
  })
})

test('Bodies: after a parser that keeps only the parsed form, JSON with the content type of a form is refused', async () => {
  const world = await openWorld({ entities, seed: seedWorld, before: (app) => app.use(koaBody()) })
  const headers = { 'Content-Type': form }
  const wrong = await send(world.url, 'POST /api/note/', {
    as: 'bob',
    headers,
    body: '{"title":"a+b%41","author_id":2}',
  })
  expect([wrong.status, wrong.text]).toEqual([400, expect.stringContaining('one text field \\"data\\"')])
  const body = `data=${encodeURIComponent('{"title":"a+b%41","author_id":2}')}`
  const right = await send(world.url, 'POST /api/note/', { as: 'bob', headers, body })
  expect([right.status, right.json()]).toEqual([201, expect.objectContaining({ title: 'a+b%41' })])
  await world.close()
})

test.each([
  ['JSON', 'application/json', json],
  ['a form', form, `data=${encodeURIComponent(json)}`],
])(
  'Bodies: after a middleware that reads the body and sets no request.body, %s is refused',
  async (_what, type, body) => {
    const drain: Middleware = async ({ req }, next) => {
      await req.resume().toArray()
      return next()
    }
    const world = await openWorld({ entities, seed: seedWorld, before: (app) => app.use(drain) })
    const reply = await send(world.url, 'POST /api/note/', { as: 'bob', headers: { 'Content-Type': type }, body })
    expect([reply.status, reply.json()]).toMatchObject([
      400,
      { detail: 'a middleware of the application has read the body, and has not set request.body' },
    ])
    await world.close()
  },
)

describe('Bodies: arrays within each other, in a request with an Idempotency-Key', () => {
  const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)
  const extra = (levels: number): string => `{"title":"x","author_id":2,"extra":${nested(levels)}}`
  const deep = extra(19_000)
  const operation = `[{"method":"POST","path":"/api/note/","body":${deep}}]`
  const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"create","arguments":{"resource":"note","idempotency_key":"key","values":${deep}}}}`

  describe.each<[string, Middleware | undefined]>([
    ['after a parser that keeps only the parsed value', koaBody()],
    ['without one', undefined],
  ])('%s', (_, parser) => {
    let world: World
    beforeAll(async () => {
      world = await openWorld({
        entities: [...entities, IdempotencyKey],
        seed: seedWorld,
        before: (app) => void (parser && app.use(parser)),
        mount: { batch: true, mcp: true },
      })
    })
    afterAll(() => world.close())

    test.each([
      ['a record', 'POST /api/note/', deep, 400, /levels/],
      ['a change', 'PATCH /api/note/1/', deep, 400, /levels/],
      ['an operation of a batch', 'POST /api/-/batch', operation, 400, /levels/],
      ['the values of a tool call', 'POST /api/-/mcp', call, 200, /levels/],
      ['as many as JSON may have', 'POST /api/note/', extra(64), 201, /\[\[\[/],
    ])('%s', async (_what, line, body, status, text) => {
      const headers = {
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        'Idempotency-Key': 'key',
      }
      const reply = await send(world.url, line, { as: 'bob', headers, body })
      expect([reply.status, reply.text]).toEqual([status, expect.stringMatching(text)])
    })
  })
})
