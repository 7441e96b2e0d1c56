import { gzipSync } from 'node:zlib'
import express, { type RequestHandler } from 'express'
import type { Reply } from './client'
import { handlerOf, withExpress } from './express-site'
import { entities } from './world/entities'
import { openWorld, seedWorld, type World } from './world/world'

let world: World
beforeAll(async () => {
  world = await openWorld({ entities, seed: seedWorld })
})
afterAll(() => world.close())

const json = '{"title":"é + & = %","author_id":2,"extra":{"a":[1]}}'
const form = 'application/x-www-form-urlencoded'

const parsers: readonly (readonly [string, RequestHandler[]])[] = [
  ['no body parser', []],
  ['express.json and express.urlencoded', [express.json(), express.urlencoded()]],
  ['express.raw', [express.raw({ type: '*/*' })]],
]

describe.each(parsers)('Bodies: after %s', (_, before) => {
  const post = async (type: string, body: string | Buffer, more: Readonly<Record<string, string>> = {}) => {
    let reply: Reply | undefined
    const setUp = (site: express.Express): unknown =>
      site.use('/api', ...before, handlerOf(world.dataSource, { prefix: '' }))
    await withExpress(setUp, async (request) => {
      reply = await request('POST /api/note/', { as: 'bob', headers: { 'Content-Type': type, ...more }, body })
    })
    return reply
  }

  test.each([
    ['JSON', 'application/json', json],
    ['a form', form, `data=${encodeURIComponent(json)}`],
    [
      'a multipart form',
      'multipart/form-data; boundary=b',
      `--b\r\nContent-Disposition: form-data; name="data"\r\n\r\n${json}\r\n--b--\r\n`,
    ],
  ])('%s', async (_what, type, body) => {
    const reply = await post(type, body)
    expect([reply?.status, reply?.json()]).toMatchObject([201, { title: 'é + & = %', extra: { a: [1] } }])
  })

  test.each([
    ['an array', 'application/json', '[1]', 400],
    ['a form without data', form, 'title=x', 400],
    ['text', 'text/plain', json, 415],
  ])('%s is refused', async (_what, type, body, status) => {
    expect((await post(type, body))?.status).toBe(status)
  })

  test('a compressed body is refused, even if the parser has decompressed it', async () => {
    const reply = await post('application/json', gzipSync(json), { 'Content-Encoding': 'gzip' })
    expect([reply?.status, reply?.json()]).toMatchObject([415, { detail: expect.stringContaining('gzip') }])
  })
})
