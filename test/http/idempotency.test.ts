import { createServer, type Server } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import Koa from 'koa'
import bodyParser from 'koa-bodyparser'
import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { IdempotencyKey, mountResources } from 'typeorm-resources'
import { type Reply, send } from '../client'
import { permitAll } from '../support/access'
import { behavior, entities, keyed, people, resetPeople, subscriberCalls, subscribers } from '../support/idempotency'
import { listen } from '../support/listen'
import { isMariadb, isPostgres, isSqlite } from '../world/leg'
import { openWorld, type World } from '../world/world'

/** Idempotency keys: a write with the header `Idempotency-Key` is executed once, and repeated requests get its response. */

/** Each test registers it with its own options. */
@Entity()
class Offer {
  @PrimaryGeneratedColumn() id!: number
  @Column() title!: string
  @Column({ default: 7 }) cost!: number
  @Column({ default: 9 }) price!: number
}

const limited = { statementTimeout: 1000, waitLimit: 1500 }

let world: World
/** Another service with the same database, which knows nothing of the requests that run here, as in another process. */
let elsewhere: Server
let elsewhereUrl: string
beforeAll(async () => {
  world = await openWorld({
    entities: keyed,
    source: { subscribers },
    mountOn: (app, dataSource) => {
      mountResources(app, dataSource, { prefix: '/small', ...limited, limits: { idempotencyBytes: 500 } })
      mountResources(app, dataSource, { prefix: '/short', ...limited, limits: { idempotencyTime: 1 } })
      return mountResources(app, dataSource, { ...limited, batch: true })
    },
  })
  await world.sql(`INSERT INTO "member" ("username", "password") VALUES ('ann', 'ann')`)
  const app = new Koa().on('error', () => {})
  mountResources(app, world.dataSource, limited)
  elsewhere = createServer(app.callback())
  elsewhereUrl = await listen(elsewhere)
})
afterAll(async () => {
  elsewhere.close()
  await world.close()
  expect(world.faults.map((fault) => Object(fault).message)).toEqual([
    'a subscriber has thrown an error after the commit',
  ])
})
beforeEach(async () => {
  resetPeople()
  subscriberCalls.length = 0
  Object.assign(behavior, { wait: undefined, run: undefined, afterCommit: undefined })
  for (const table of ['ticket', 'plain', 'idempotency_key']) await world.sql(`DELETE FROM "${table}"`)
})

interface Sent {
  /** Who sends the request; '' for nobody. Default: ann. */
  readonly as?: string
  readonly key?: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** Sends a request. Paths are relative to `/api/` unless they begin with a slash. */
function request(line: string, { as = 'ann', key, body, headers }: Sent = {}, url = world.url): Promise<Reply> {
  const own = as === '' ? {} : { 'x-as': as }
  const keyHeader = key === undefined ? {} : { 'Idempotency-Key': key }
  return send(url, line.replace(/ (?!\/)/, ' /api/'), { body, headers: { ...own, ...keyHeader, ...headers } })
}

const count = async (table: string): Promise<number> => (await world.sql(`SELECT * FROM "${table}"`)).length
const codeOf = (reply: Reply): string => `${reply.status} ${(reply.json() as { type: string }).type.split(':').at(-1)}`
const isReplay = ({ headers }: Reply): boolean => headers['idempotent-replayed'] === 'true'
const seen = ({ status, headers, text }: Reply): unknown => {
  const { date, 'idempotent-replayed': replayed, ...others } = headers
  return { status, headers: others, text }
}
const idOf = (reply: Reply): number => (reply.json() as { id: number }).id

describe('a repeated request gets the stored response, and writes nothing', () => {
  test('POST, which listeners hear once', async () => {
    const sent = { key: 'k1', body: { title: 'one', price: 5 } }
    const first = await request('POST ticket/', sent)
    const location = expect.stringMatching(/^\/api\/ticket\/\d+\/$/)
    expect(first).toMatchObject({ status: 201, headers: { etag: expect.any(String), location } })
    expect(isReplay(first)).toBe(false)
    // The slash at the end is optional.
    for (const line of ['POST ticket/', 'POST ticket']) {
      const again = await request(line, sent)
      expect(isReplay(again)).toBe(true)
      expect(seen(again)).toEqual(seen(first))
    }
    expect(subscriberCalls).toEqual(['insert one'])
    expect([await count('ticket'), await count('idempotency_key')]).toEqual([1, 1])
  })

  test('PATCH, also if the record has changed since, and whatever If-Match says', async () => {
    const made = await request('POST ticket/', { body: { title: 'one' } })
    const sent = { key: 'k1', body: { title: 'two' }, headers: { 'If-Match': String(made.headers.etag) } }
    const first = await request(`PATCH ticket/${idOf(made)}/`, sent)
    expect(first.json()).toMatchObject({ title: 'two' })
    await request(`PUT ticket/${idOf(made)}/`, { body: { title: 'three' } })
    const again = await request(`PATCH ticket/${idOf(made)}/`, sent)
    expect([isReplay(again), seen(again)]).toEqual([true, seen(first)])
    expect(subscriberCalls).toEqual(['insert one', 'update two', 'update three'])
    expect(await world.sql('SELECT "title" FROM "ticket"')).toEqual([{ title: 'three' }])
  })

  test('a record that one statement writes, and one that has been deleted', async () => {
    const first = await request('POST plain/', { key: 'k1', body: { title: 'one' } })
    const patch = { key: 'k2', body: { score: 2 } }
    const patched = await request(`PATCH plain/${idOf(first)}/`, patch)
    await request(`DELETE plain/${idOf(first)}/`, { key: 'k3' })
    expect(seen(await request('POST plain/', { key: 'k1', body: { title: 'one' } }))).toEqual(seen(first))
    expect(seen(await request(`PATCH plain/${idOf(first)}/`, patch))).toEqual(seen(patched))
    expect([await count('plain'), await count('idempotency_key')]).toEqual([1, 2])
  })

  test.each([
    ['anonymous requests have one space of keys', ['', ''], [false, true]],
    ['users have one each', ['ann', 'bob', 'text', ''], [false, false, false, false]],
  ])('%s', async (_, names, replayed) => {
    const replies: Reply[] = []
    for (const as of names) replies.push(await request('POST plain/', { as, key: 'k1', body: { title: 'one' } }))
    expect(replies.map(isReplay)).toEqual(replayed)
    expect(await count('plain')).toBe(replayed.filter((one) => !one).length)
  })

  test('keys differ by case, accents and blanks at the end, on every database', async () => {
    for (const key of ['a', 'A', 'a"', '"a"']) await request('POST plain/', { key, body: { title: key } })
    expect(await count('plain')).toBe(4)
  })

  test('a body that is a form', async () => {
    const form = { 'Content-Type': 'application/x-www-form-urlencoded' }
    const sent = { key: 'k1', body: `data=${encodeURIComponent('{"title":"one"}')}`, headers: form }
    expect([await request('POST plain/', sent), await request('POST plain/', sent)].map(isReplay)).toEqual([
      false,
      true,
    ])
    expect(await count('plain')).toBe(1)
  })
})

describe('a write that fails late', () => {
  test('the response to a write that is stored is not lost with an error after the commit', async () => {
    const sent = { key: 'k1', body: { title: 'one' } }
    behavior.afterCommit = () => {
      throw new Error('too late')
    }
    expect((await request('POST ticket/', sent)).status).toBe(500)
    behavior.afterCommit = undefined
    const again = await request('POST ticket/', sent)
    expect([again.status, isReplay(again), subscriberCalls.length]).toEqual([201, true, 1])
    expect(await count('ticket')).toBe(1)
  })

  if (!isSqlite) {
    test('after a deadlock, the whole transaction is repeated once', async () => {
      const deadlock = isPostgres
        ? "DO $$ BEGIN RAISE EXCEPTION 'deadlock' USING ERRCODE = '40P01'; END $$"
        : "SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213"
      behavior.run = async ({ queryRunner }) => {
        if (subscriberCalls.length === 1) await queryRunner.query(deadlock)
      }
      const reply = await request('POST ticket/', { key: 'k1', body: { title: 'one' } })
      expect([reply.status, subscriberCalls]).toEqual([201, ['insert one', 'insert one']])
      expect([await count('ticket'), await count('idempotency_key')]).toEqual([1, 1])
    })
  }
})

describe('a key of another request is 422', () => {
  test.each([
    ['body', 'POST plain/', { title: 'two' }, {}],
    ['query', 'POST plain/?dry_run=false', { title: 'one' }, {}],
    ['path', 'POST ticket/', { title: 'one' }, {}],
    ['method', 'PATCH plain/ID/', { title: 'one' }, {}],
    ['content type', 'POST plain/', '{"title":"one"}', { 'Content-Type': 'application/x-www-form-urlencoded' }],
  ])('another %s', async (_, line, body, headers) => {
    const first = await request('POST plain/', { key: 'k1', body: { title: 'one' } })
    const other = await request(line.replace('ID', String(idOf(first))), { key: 'k1', body, headers })
    expect(codeOf(other)).toBe('422 idempotency-key-reused')
    expect([await count('plain'), await count('ticket')]).toEqual([1, 0])
  })
})

describe('while the first request is running', () => {
  /** Sends a POST whose listener waits. */
  async function sendSlow(title: string): Promise<{ readonly first: Promise<Reply>; readonly finish: () => void }> {
    let finish = (): void => {}
    behavior.wait = new Promise<void>((resolve) => {
      finish = resolve
    })
    const first = request('POST ticket/', { key: 'k1', body: { title } })
    while (subscriberCalls.length === 0) await setTimeout(5)
    return { first, finish }
  }

  test('the second is 409 at once in the same process, with any body', async () => {
    const { first, finish } = await sendSlow('one')
    const second = await request('POST ticket/', { key: 'k1', body: { title: 'one' } })
    const other = await request('POST ticket/', { key: 'k1', body: { title: 'two' } })
    expect([second, other].map(codeOf)).toEqual(Array(2).fill('409 idempotency-key-in-use'))
    expect(second.headers['retry-after']).toBe('1')
    finish()
    expect((await first).status).toBe(201)
    expect(isReplay(await request('POST ticket/', { key: 'k1', body: { title: 'one' } }))).toBe(true)
    expect(subscriberCalls).toEqual(['insert one'])
  })

  test('the second waits in another process, and then gets the response', async () => {
    const { first, finish } = await sendSlow('one')
    const second = request('POST ticket/', { key: 'k1', body: { title: 'one' } }, elsewhereUrl)
    await setTimeout(100)
    finish()
    expect(isReplay(await second)).toBe(true)
    expect(seen(await second)).toEqual(seen(await first))
    expect([await count('ticket'), subscriberCalls.length]).toEqual([1, 1])
  })

  test('the second executes the write if the first fails', async () => {
    const { first, finish } = await sendSlow('refused')
    const second = request('POST plain/', { key: 'k1', body: { title: 'one' } }, elsewhereUrl)
    await setTimeout(100)
    finish()
    expect([(await first).status, (await second).status]).toEqual([409, 201])
    expect([await count('ticket'), await count('idempotency_key')]).toEqual([0, 1])
  })

  // On SQLite, no other request runs while one is in a transaction.
  test('the second is 409 in another process after the time limit', async () => {
    const { first, finish } = await sendSlow('one')
    const second = await request('POST ticket/', { key: 'k1', body: { title: 'one' } }, elsewhereUrl)
    expect(codeOf(second)).toBe(isSqlite ? '503 unavailable' : '409 idempotency-key-in-use')
    finish()
    expect((await first).status).toBe(201)
  })

  test('of ten at once, one writes', async () => {
    const lines = Array.from({ length: 10 }, () => 'POST ticket/')
    const replies = await Promise.all(lines.map((line) => request(line, { key: 'k1', body: { title: 'one' } })))
    const outcomes = replies.map((reply) =>
      reply.status === 409 ? codeOf(reply) : `${reply.status} ${isReplay(reply)}`,
    )
    expect(outcomes.filter((outcome) => outcome === '201 false')).toHaveLength(1)
    expect(new Set(outcomes)).toEqual(
      new Set(['201 false', ...outcomes.filter((one) => /^(409 idempotency-key-in-use|201 true)$/.test(one))]),
    )
    expect(await count('ticket')).toBe(1)
  })
})

describe('a refused request stores nothing', () => {
  test.each([
    ['values', 'POST ticket/', { body: { title: 5 } }, '400 bad-values'],
    ['query', 'POST ticket/?include=nope', { body: { title: 'one' } }, '400 bad-query'],
    ['body', 'POST ticket/', { body: '{', headers: { 'Content-Type': 'application/json' } }, '400 bad-body'],
    ['missing record', 'PATCH ticket/4711/', { body: { title: 'one' } }, '404 not-found'],
    ['row scope', 'POST ticket/', { body: { title: 'one', team: 'blue' } }, '403 forbidden'],
    [
      'precondition',
      'PATCH ticket/ID/',
      { body: { title: 'two' }, headers: { 'If-Match': '"x"' } },
      '412 precondition-failed',
    ],
    ['unique violation', 'POST ticket/', { body: { title: 'two', code: 'taken' } }, '409 conflict'],
    ['reference', 'POST ticket/', { body: { title: 'two', parent_id: 4711 } }, '400 bad-values'],
    ['update of a unique value', 'PATCH ticket/ID/', { body: { code: 'taken' } }, '409 conflict'],
    ['update with one statement', 'PATCH plain/4711/', { body: { score: 99 } }, '404 not-found'],
    ['update with one statement that fails', 'PATCH plain/PLAIN/', { body: { code: 'taken' } }, '409 conflict'],
    ['value out of range', 'PATCH plain/PLAIN/', { body: { score: 1e30 } }, '400 bad-values'],
  ])('%s', async (_, line, sent, code) => {
    await request('POST ticket/', { body: { title: 'one', code: 'taken' } })
    const id = idOf(await request('POST ticket/', { body: { title: 'other' } }))
    await request('POST plain/', { body: { title: 'first', code: 'taken' } })
    const plain = idOf(await request('POST plain/', { body: { title: 'plain' } }))
    const path = line.replace('ID', String(id)).replace('PLAIN', String(plain))
    for (let turn = 0; turn < 2; turn++) expect(codeOf(await request(path, { key: 'k1', ...sent }))).toBe(code)
    expect([await count('ticket'), await count('plain'), await count('idempotency_key')]).toEqual([2, 2, 0])
    // The key can be used again.
    expect((await request('POST plain/', { key: 'k1', body: { title: 'one' } })).status).toBe(201)
  })

  test('a listener that throws, and an access rule', async () => {
    const thrown = await request('POST ticket/', { key: 'k1', body: { title: 'refused' } })
    const unknown = await request('POST ticket/', { key: 'k1', as: 'nobody', body: { title: 'one' } })
    expect([thrown.status, unknown.status]).toEqual([409, 401])
    expect([await count('ticket'), await count('idempotency_key')]).toEqual([0, 0])
  })

  test('the access rule is checked again', async () => {
    const sent = { key: 'k1', body: { title: 'one' } }
    await request('POST ticket/', sent)
    delete people['ann']
    expect((await request('POST ticket/', sent)).status).toBe(401)
  })
})

describe('the response is not sent to principals who may see less now', () => {
  test('a field that the principal may not read any more', async () => {
    const sent = { key: 'k1', body: { title: 'one', price: 5 } }
    expect((await request('POST ticket/', sent)).json()).toMatchObject({ price: 5 })
    Object.assign(people['ann'] ?? {}, { manager: false })
    const again = await request('POST ticket/', sent)
    expect(codeOf(again)).toBe('422 idempotency-key-reused')
    expect(await count('ticket')).toBe(1)
  })

  test.each([
    ['hide', { exclude: ['cost'] }],
    ['show another column by its name', { exclude: ['cost'], rename: { price: 'cost' } }],
  ])('a field that the options of a newer process %s', async (_, newer) => {
    const older = await openWorld({
      entities: [Offer, IdempotencyKey],
      mount: { batch: true, resources: [{ entity: Offer, auth: permitAll }] },
    })
    const app = new Koa()
    mountResources(app, older.dataSource, { batch: true, resources: [{ entity: Offer, auth: permitAll, ...newer }] })
    const server = createServer(app.callback())
    const newerUrl = await listen(server)
    const operation = { method: 'POST', path: '/api/offer/', body: { title: 'two' } }
    for (const [line, sent] of [
      ['POST offer/', { key: 'k1', body: { title: 'one' } }],
      ['POST -/batch', { key: 'k2', body: [operation] }],
    ] as const) {
      const first = await request(line, sent, older.url)
      expect(first.text).toContain('"cost":7')
      expect(seen(await request(line, sent, older.url))).toEqual(seen(first))
      expect(codeOf(await request(line, sent, newerUrl))).toBe('422 idempotency-key-reused')
    }
    server.close()
    await older.close()
  })

  test('a record that has left the row scope', async () => {
    const made = await request('POST ticket/', { key: 'k1', body: { title: 'one' } })
    const patch = { key: 'k2', body: { title: 'two' } }
    await request(`PATCH ticket/${idOf(made)}/`, patch)
    Object.assign(people['ann'] ?? {}, { team: 'blue' })
    const replies = [
      await request('POST ticket/', { key: 'k1', body: { title: 'one' } }),
      await request(`PATCH ticket/${idOf(made)}/`, patch),
    ]
    expect(replies.map(codeOf)).toEqual(Array(2).fill('404 not-found'))
    expect(await count('ticket')).toBe(1)
  })

  test('related records are read again', async () => {
    const made = await request('POST ticket/', { body: { title: 'one' } })
    const path = `PATCH ticket/${idOf(made)}/?include=parts(fields:(title))`
    await request('POST ticket/', { body: { title: 'part', parent_id: idOf(made) } })
    await request('POST ticket/', { body: { title: 'hidden', parent_id: idOf(made) } })
    const sent = { key: 'k1', body: { title: 'two' } }
    const titlesOf = (reply: Reply): unknown =>
      (reply.json() as { parts: readonly { title: string }[] }).parts.map(({ title }) => title)
    expect(titlesOf(await request(path, sent))).toEqual(['part', 'hidden'])
    await world.sql(`UPDATE "ticket" SET "team" = 'blue' WHERE "title" = 'hidden'`)
    const again = await request(path, sent)
    expect([isReplay(again), titlesOf(again)]).toEqual([true, ['part']])
  })

  test('the table has neither hidden fields nor keys, nor digests of bodies without a secret', async () => {
    await request('POST member/', { key: 'a-random-key', body: { username: 'eve', password: 'pass-word' } })
    await request('POST ticket/', { key: 'a-random-key-2', body: { title: 'one' } })
    const stored = JSON.stringify(await world.dataSource.getRepository(IdempotencyKey).find())
    expect(stored).toContain('eve')
    expect(stored).not.toMatch(/a-random-key|pass-word|canary/)
  })
})

describe('a response is stored for a limited time', () => {
  test('an expired key is used again', async () => {
    const sent = { key: 'k1', body: { title: 'one' } }
    await request('POST /short/plain/', sent)
    await setTimeout(10)
    const again = await request('POST plain/', sent)
    expect([again.status, isReplay(again)]).toEqual([201, false])
    expect([await count('plain'), await count('idempotency_key')]).toEqual([2, 1])
    expect(isReplay(await request('POST plain/', sent))).toBe(true)
  })

  test('the row has the time of limits.idempotencyTime', async () => {
    await request('POST plain/', { key: 'k1', body: { title: 'one' } })
    const [row] = await world.dataSource.getRepository(IdempotencyKey).find()
    expect(Number(row?.expires) - Date.now()).toBeGreaterThan(86_000_000)
    expect(Number(row?.expires) - Date.now()).toBeLessThanOrEqual(86_400_000)
  })

  test('writes delete expired rows, at most 100 each, by the index', async () => {
    const repository = world.dataSource.getRepository(IdempotencyKey)
    const row = (index: number, expires: number): Partial<IdempotencyKey> => ({
      id: `${index}`.padStart(64, '0'),
      fingerprint: 'x',
      response: null,
      expires: String(expires),
    })
    await repository.insert(Array.from({ length: 150 }, (_, index) => row(index, 1000 + index)))
    await repository.insert(Array.from({ length: 900 }, (_, index) => row(1000 + index, Date.now() + 1e8)))
    await repository.insert(Array.from({ length: 900 }, (_, index) => row(2000 + index, Date.now() + 1e8)))
    if (!isSqlite) await world.sql(isPostgres ? 'ANALYZE "idempotency_key"' : 'ANALYZE TABLE "idempotency_key"')
    world.statements()
    const until = async (length: number): Promise<void> => {
      for (let turn = 0; (await count('idempotency_key')) !== length; turn++) {
        if (turn === 200) throw new Error(`${await count('idempotency_key')} rows, not ${length}`)
        await setTimeout(10)
      }
    }
    // An earlier test may have deleted rows less than a second ago.
    await setTimeout(1000)
    await request('POST plain/', { key: 'k1', body: { title: 'one' } })
    await until(1951 - 100)
    const find = world.statements().find((sql) => /^SELECT .*expires.* LIMIT /s.test(sql)) ?? ''
    await request('POST plain/', { key: 'k2', body: { title: 'one' } })
    await until(1952 - 150)
    const plan = await explain(find)
    expect(plan).toMatch(isMariadb ? /"key":\s*"IDX_/ : /IDX_/)
    expect(plan).not.toMatch(/Seq Scan|SCAN idem/)
  })

  async function explain(sql: string): Promise<string> {
    const text = sql.replace(/\?|\$1/, '5000')
    const explained = isSqlite ? 'EXPLAIN QUERY PLAN' : isMariadb ? 'EXPLAIN FORMAT=JSON' : 'EXPLAIN'
    return (await world.dataSource.query(`${explained} ${text}`))
      .map((one: object) => Object.values(one).join())
      .join('\n')
  }
})

describe('writes of several records', () => {
  const csv = { 'Content-Type': 'text/csv' }

  test('an array, and records that match', async () => {
    const post = { key: 'k1', body: [{ title: 'one' }, { title: 'two' }] }
    const patch = { key: 'k2', body: { price: 7 } }
    const first = [await request('POST ticket/', post), await request('PATCH ticket/?title=one', patch)]
    expect(first.map(({ status }) => status)).toEqual([201, 200])
    await request('POST ticket/', { body: { title: 'one' } })
    const again = [await request('POST ticket/', post), await request('PATCH ticket/?title=one', patch)]
    expect([again.map(isReplay), again.map(seen)]).toEqual([[true, true], first.map(seen)])
    expect(await world.sql('SELECT "price" FROM "ticket" ORDER BY "id"')).toEqual([7, 0, 0].map((price) => ({ price })))
  })

  test.each([
    ['short', 'title,price\none,1\ntwo,2\n', 2],
    // Empty lines are no records.
    ['long enough for a temporary file', `title\none\n${'\n'.repeat(1024 * 1024)}two\n`, 2],
  ])('an import that is %s', async (_, body, created) => {
    const replies = [
      await request('POST ticket/', { key: 'k1', body, headers: csv }),
      await request('POST ticket/', { key: 'k1', body, headers: csv }),
      await request('POST ticket/', { key: 'k1', body: `${body}more\n`, headers: csv }),
    ]
    expect(replies.map(({ status }) => status)).toEqual([201, 201, 422])
    expect(replies[1]?.json()).toMatchObject({ meta: { created } })
    expect([replies.map(isReplay), await count('ticket')]).toEqual([[false, true, false], created])
  })

  test.each([
    ['an error in one record', 'POST ticket/', { body: [{ title: 'one' }, { title: 2 }] }, '400 bad-values'],
    [
      'a unique violation',
      'POST ticket/',
      {
        body: [
          { title: 'x', code: 'a' },
          { title: 'y', code: 'a' },
        ],
      },
      '409 conflict',
    ],
    ['too many matches', 'PATCH ticket/?title__ne=x&max=1', { body: { price: 7 } }, '409 conflict'],
    ['an error in an import', 'POST ticket/', { body: 'title,price\none,many\n', headers: csv }, '400 bad-values'],
    ['include', 'POST ticket/?include=parts', { body: [{ title: 'one' }] }, '400 bad-query'],
    ['dry_run', 'POST ticket/?dry_run=true', { body: [{ title: 'one' }] }, '400 bad-query'],
    ['dry_run of an import', 'POST ticket/?dry_run=true', { body: 'title\none\n', headers: csv }, '400 bad-query'],
  ])('%s stores nothing', async (_, line, sent, code) => {
    for (const title of ['a', 'b']) await request('POST ticket/', { body: { title } })
    for (let turn = 0; turn < 2; turn++) expect(codeOf(await request(line, { key: 'k1', ...sent }))).toBe(code)
    expect([await count('ticket'), await count('idempotency_key')]).toEqual([2, 0])
    expect(await world.sql('SELECT * FROM "ticket" WHERE "price" = 7')).toEqual([])
  })

  test('the response with a record that has left the row scope is 404', async () => {
    const sent = { key: 'k1', body: [{ title: 'one' }, { title: 'two' }] }
    await request('POST ticket/', sent)
    await world.sql(`UPDATE "ticket" SET "team" = 'blue' WHERE "title" = 'two'`)
    expect(codeOf(await request('POST ticket/', sent))).toBe('404 not-found')
  })
})

describe('other writes', () => {
  const batch = (key: string, operations: readonly object[]): Promise<Reply> =>
    request('POST -/batch', { key, body: operations })
  const post = (path: string, body: object): object => ({ method: 'POST', path: `/api/${path}`, body })

  const patch = (id: number): object => ({ method: 'PATCH', path: `/api/ticket/${id}/`, body: { title: 'two' } })

  test('a batch runs once, with one key for all of its operations', async () => {
    const operations = [
      post('ticket/', { title: 'one' }),
      post('ticket/', { title: 'two', parent_id: { $ref: '0.id' } }),
    ]
    const first = await batch('k1', operations)
    expect([first.status, isReplay(first)]).toEqual([200, false])
    const again = await batch('k1', operations)
    expect([isReplay(again), seen(again)]).toEqual([true, seen(first)])
    expect(codeOf(await batch('k1', operations.slice(0, 1)))).toBe('422 idempotency-key-reused')
    expect([await count('ticket'), await count('idempotency_key'), subscriberCalls.length]).toEqual([2, 1, 2])
  })

  test('a refused batch stores nothing', async () => {
    const refused = [post('ticket/', { title: 'one' }), post('plain/', { title: 5 })]
    expect(codeOf(await batch('k1', refused))).toBe('400 bad-values')
    expect([await count('ticket'), await count('idempotency_key')]).toEqual([0, 0])
  })

  test('related records of a batch are read again, and a record that has left the row scope is 404', async () => {
    const operations = [post('ticket/?include=parts', { title: 'one' }), post('plain/', { title: 'two' })]
    const first = await batch('k1', operations)
    const [{ body }] = (first.json() as { results: [{ body: { id: number; parts: unknown[] } }] }).results
    expect(body.parts).toEqual([])
    await request('POST ticket/', { body: { title: 'part', parent_id: body.id } })
    const again = await batch('k1', operations)
    expect(isReplay(again)).toBe(true)
    expect(again.json()).toMatchObject({ results: [{ status: 201, body: { parts: [{ title: 'part' }] } }, {}] })
    await world.sql(`UPDATE "ticket" SET "team" = 'blue'`)
    expect(codeOf(await batch('k1', operations))).toBe('404 not-found')
    expect(await count('plain')).toBe(1)
  })

  test.each<[string, (id: number) => readonly object[]]>([
    ['by its path', (id) => [patch(id), { method: 'DELETE', path: `/api/ticket/${id}/` }]],
    ['by a filter', (id) => [patch(id), { method: 'DELETE', path: '/api/ticket/?title=two' }]],
    [
      'with its parent',
      (id) => [post('ticket/', { title: 'part', parent_id: id }), { method: 'DELETE', path: `/api/ticket/${id}/` }],
    ],
    [
      'and others of an array',
      (id) => [
        { ...post('ticket/', {}), body: [{ title: 'two' }, { title: 'three' }] },
        { method: 'DELETE', path: '/api/ticket/?title=two' },
        patch(id),
      ],
    ],
  ])('a batch in which a later operation deletes a record %s gets its response again', async (_, operationsFor) => {
    const operations = operationsFor(idOf(await request('POST ticket/', { body: { title: 'one' } })))
    const first = await batch('k1', operations)
    expect([first.status, isReplay(first)]).toEqual([200, false])
    const before = await world.sql('SELECT "title" FROM "ticket"')
    const again = await batch('k1', operations)
    expect([isReplay(again), seen(again)]).toEqual([true, seen(first)])
    expect(await world.sql('SELECT "title" FROM "ticket"')).toEqual(before)
  })

  test('the other records of an array must still be visible if a later operation of the batch deletes one', async () => {
    const operations = [
      { ...post('ticket/', {}), body: [{ title: 'two' }, { title: 'three' }] },
      { method: 'DELETE', path: '/api/ticket/?title=two' },
    ]
    expect((await batch('k1', operations)).status).toBe(200)
    await world.sql(`UPDATE "ticket" SET "team" = 'blue'`)
    expect(codeOf(await batch('k1', operations))).toBe('404 not-found')
  })

  test.each([
    ['has left the row scope', `UPDATE "ticket" SET "team" = 'blue'`],
    ['was deleted by another user', 'DELETE FROM "ticket"'],
  ])('if a record %s, the refusal says that the first request was executed', async (_, change) => {
    const id = idOf(await request('POST ticket/', { body: { title: 'one' } }))
    const single = { key: 'k1', body: { title: 'two' } }
    await request(`PATCH ticket/${id}/`, single)
    const operations = [post('plain/', { title: 'one' }), patch(id)]
    await batch('k2', operations)
    await world.sql(change)
    const replies = [await request(`PATCH ticket/${id}/`, single), await batch('k2', operations)]
    expect(replies.map(codeOf)).toEqual(Array(2).fill('404 not-found'))
    const executed = expect.stringMatching(
      / with this Idempotency-Key was executed earlier, but you cannot see .* any more/,
    )
    for (const reply of replies) {
      expect(reply.json()).toMatchObject({ detail: executed })
      // With an index, the response would say that the batch has written nothing.
      expect(reply.json()).not.toHaveProperty('index')
    }
    expect(await count('plain')).toBe(1)
  })

  test('a batch that creates an API key is 400', async () => {
    const reply = await batch('k1', [post('plain/', { title: 'one' }), post('token/', {})])
    expect([codeOf(reply), await count('plain')]).toEqual(['400 bad-idempotency-key', 0])
  })

  test('restoring, and updating by a unique value', async () => {
    const made = await request('POST plain/', { body: { title: 'one', code: 'a' } })
    await request(`DELETE plain/${idOf(made)}/`)
    const upsert = { key: 'k2', body: { title: 'two', code: 'a' } }
    for (const replayed of [false, true]) {
      const restored = await request(`POST plain/${idOf(made)}/restore/`, { key: 'k1' })
      expect([restored.status, isReplay(restored)]).toEqual([200, replayed])
    }
    for (const replayed of [false, true]) {
      const updated = await request('POST plain/?on_conflict=code', upsert)
      expect([updated.status, isReplay(updated)]).toEqual([200, replayed])
    }
    expect([await count('plain'), await count('idempotency_key')]).toEqual([1, 2])
  })
})

describe('requests without a usable key', () => {
  test.each(['', ' ', 'a b', 'ä', 'x'.repeat(256), 'a\tb'])('the key %j is 400', async (key) => {
    const reply = await request('POST plain/', { key, body: { title: 'one' } })
    expect(codeOf(reply)).toBe('400 bad-idempotency-key')
    expect(await count('plain')).toBe(0)
  })

  test('255 characters are a key; other methods ignore the header', async () => {
    const made = await request('POST plain/', { key: '~'.repeat(255), body: { title: 'one' } })
    expect(made.status).toBe(201)
    const id = idOf(made)
    expect((await request(`GET plain/${id}/`, { key: 'a b' })).status).toBe(200)
    expect((await request(`PUT plain/${id}/`, { key: 'a b', body: { score: 2 } })).status).toBe(200)
    expect((await request(`DELETE plain/${id}/`, { key: 'a b' })).status).toBe(204)
    expect(await count('idempotency_key')).toBe(1)
  })

  test('the POST of an API key is 400, because its response has a secret', async () => {
    const reply = await request('POST token/', { key: 'k1', body: {} })
    expect([codeOf(reply), await count('token')]).toEqual(['400 bad-idempotency-key', 0])
    expect((await request('POST token/', { body: {} })).status).toBe(201)
  })

  test('a response that is too large to store is 400, and nothing is written', async () => {
    const reply = await request('POST /small/plain/', { key: 'k1', body: { title: 'x'.repeat(600) } })
    expect(codeOf(reply)).toBe('400 bad-idempotency-key')
    expect(reply.json()).toMatchObject({ detail: expect.stringContaining('at most 500') })
    expect([await count('plain'), await count('idempotency_key')]).toEqual([0, 0])
  })

  test('by default, a response of more than 1 MiB is 400', async () => {
    // JSON escapes the character by six others.
    const body = Array(1000).fill({ title: '\u0001'.repeat(250) })
    const reply = await request('POST ticket/', { key: 'k1', body })
    expect([codeOf(reply), await count('ticket'), await count('idempotency_key')]).toEqual([
      '400 bad-idempotency-key',
      0,
      0,
    ])
    expect(reply.json()).toMatchObject({ detail: expect.stringMatching(/at most 1048576, .* PATCH with If-Match$/) })
  })

  test('without the entity, the header is 400 with advice', async () => {
    const other = await openWorld({ entities })
    const reply = await request('POST plain/', { key: 'k1', body: { title: 'one' } }, other.url)
    expect(codeOf(reply)).toBe('400 bad-idempotency-key')
    expect(reply.json()).toMatchObject({ detail: expect.stringContaining('add the entity IdempotencyKey') })
    expect(await other.sql('SELECT * FROM "plain"')).toEqual([])
    await other.close()
  })
})

describe('the OpenAPI document', () => {
  interface Operation {
    readonly parameters: readonly { readonly name: string }[]
    readonly responses: Readonly<Record<string, unknown>>
  }
  const operationsOf = async (url: string): Promise<Readonly<Record<string, Record<string, Operation>>>> =>
    ((await send(url, 'GET /api/openapi.json')).json() as { paths: Record<string, Record<string, Operation>> }).paths
  const isKeyed = ({ parameters, responses }: Operation): boolean =>
    parameters.some(({ name }) => name === 'Idempotency-Key') && '422' in responses && '409' in responses

  test('describes the header where it can be sent, and not the entity', async () => {
    const paths = await operationsOf(world.url)
    const keyedOperations = Object.entries(paths).flatMap(([path, { parameters, ...operations }]) =>
      Object.entries(operations).flatMap(([method, operation]) => (isKeyed(operation) ? [`${method} ${path}`] : [])),
    )
    expect(keyedOperations.toSorted()).toEqual([
      ...['member', 'plain'].map((name) => `patch /${name}/{id}`),
      'patch /ticket',
      ...['ticket', 'token'].map((name) => `patch /${name}/{id}`),
      'post /-/batch',
      ...['member', 'plain', 'ticket'].map((name) => `post /${name}`),
    ])
    expect(JSON.stringify(await world.mounted.resources).toLowerCase()).not.toContain('idempotency')
    expect(Object.keys(paths).join().toLowerCase()).not.toContain('idempotency')
  })

  test('does not describe it without the entity', async () => {
    const other = await openWorld({ entities })
    expect(JSON.stringify(await operationsOf(other.url))).not.toContain('Idempotency-Key')
    await other.close()
  })
})

test('a body that a parser of the application has read', async () => {
  const other = await openWorld({ entities: keyed, before: (app) => app.use(bodyParser()) })
  const post = async (title: string): Promise<Reply> =>
    request('POST plain/', { key: 'k1', body: { title } }, other.url)
  const replies = [await post('one'), await post('one'), await post('two')]
  expect(replies.map(({ status }) => status)).toEqual([201, 201, 422])
  expect(replies.map(isReplay)).toEqual([false, true, false])
  await other.close()
})
