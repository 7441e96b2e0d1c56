import 'reflect-metadata'
import {
  Column,
  type DataSource,
  Entity,
  type EntitySubscriberInterface,
  EventSubscriber,
  type InsertEvent,
  PrimaryGeneratedColumn,
} from 'typeorm'
import { Resource } from 'typeorm-resources'
import { type Reply, type SendOptions, send } from '../client'
import { permitAll } from '../support/access'
import { insertRows } from '../support/insert-rows'
import { openPaused } from '../support/paused-client'
import { atEnd } from './cleanup'
import { type Cluster, startMariadb, startPostgres } from './clusters'
import { type DroppingProxy, startDroppingProxy } from './dropping-proxy'
import { Account, entities, Memo, Note, subscribers } from './entities'
import { describeReply, isUnavailable } from './ledger'
import { openSite, type Site } from './site'
import { sleep, until } from './time'

/**
 * A firewall or proxy stops forwarding the connections to the database, without closing them; new ones work. The service closes
 * a connection on which one of its statements has no answer.
 */

/** Time limit for statements, in milliseconds. */
const statementTimeout = 300
/** Longer than the service waits for an answer. */
const longMs = 7_000
/** Time after which a request has no response: the service itself responds much earlier. */
const hangMs = 40_000

/** Longer than all buffers of a connection when all of them are sent. */
@Entity()
@Resource({ auth: permitAll, formats: true })
class Line {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'varchar', length: 2000 }) text!: string
}
const lineCount = 12_000

/** Has a subscriber that runs a long statement. */
@Entity()
@Resource({ auth: permitAll })
class Task {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) tag!: string
}

@EventSubscriber()
class TaskSubscriber implements EntitySubscriberInterface<Task> {
  listenTo(): typeof Task {
    return Task
  }

  async afterInsert({ manager }: InsertEvent<Task>): Promise<void> {
    await manager.query(sleepSql(manager.connection, longMs))
  }
}

function sleepSql({ options: { type } }: DataSource, milliseconds: number): string {
  return `SELECT ${type === 'postgres' ? 'pg_sleep' : 'SLEEP'}(${milliseconds / 1000})`
}

/** A site whose connections to the database go through a proxy of its own. */
interface ProxiedSite {
  readonly site: Site
  readonly proxy: DroppingProxy
  readonly ask: (line: string, options?: SendOptions) => Promise<string>
}

/** A 503 response as the documentation describes it. */
const unavailable = 'unavailable'

describe.each([
  { name: 'PostgreSQL', start: startPostgres, set: 'set_config(' },
  { name: 'MariaDB', start: startMariadb, set: 'autocommit = 1' },
])('$name', ({ name, start, set }) => {
  const isPostgres = name === 'PostgreSQL'
  let cluster: Cluster
  beforeAll(async () => {
    cluster = await start()
    const { dataSource, close } = await openSite({ source: sourceAt(cluster.source.url) })
    await dataSource.getRepository(Account).insert({ username: 'ann', password: 'ann' })
    await dataSource.getRepository(Note).insert({ tag: 'first' })
    await insertRows(dataSource, Line, new Array(lineCount).fill({ text: 'x'.repeat(2000) }))
    await close()
  })

  function sourceAt(url: string) {
    const all = { entities: [...entities, Line, Task], subscribers: [...subscribers, TaskSubscriber] }
    return { ...cluster.source, url, ...all }
  }

  /** @param connections size of the pool */
  async function open(connections: number, edit?: (packet: Buffer) => Buffer): Promise<ProxiedSite> {
    const url = new URL(cluster.source.url)
    const proxy = await startDroppingProxy(Number(url.port), edit)
    url.port = String(proxy.port)
    const site = await openSite({
      source: { ...sourceAt(url.href), synchronize: false, poolSize: connections },
      mount: { statementTimeout, waitLimit: hangMs, health: true },
      before: (app) => Object.assign(app, { proxy: true }),
    })
    // In reverse order: silent connections do not end until they are closed.
    atEnd(site.close)
    atEnd(proxy.close)
    const ask = async (line: string, options?: SendOptions): Promise<string> => {
      let timer: NodeJS.Timeout | undefined
      const hang = new Promise<undefined>((resolve) => {
        timer = setTimeout(() => resolve(undefined), hangMs)
      })
      const reply = await Promise.race([send(site.url, line, options), hang]).finally(() => clearTimeout(timer))
      return reply === undefined ? 'no response' : shown(reply)
    }
    return { site, proxy, ask }
  }

  function shown(reply: Reply): string {
    if (isUnavailable(reply)) return unavailable
    return reply.status < 400 ? String(reply.status) : describeReply(reply)
  }

  const quote = (table: string): string => (isPostgres ? `"${table}"` : `\`${table}\``)

  test('when all connections are silent, the requests on them get 503, and those behind them and later ones succeed', async () => {
    const { site, proxy, ask } = await open(3)
    const post = (tag: string, address = '192.0.2.9'): Promise<string> =>
      ask('POST /api/note/', { body: { tag }, headers: { 'X-Forwarded-For': address } })
    // Neither writes nor one client use all connections.
    const silentTags = ['a', 'b']
    for (const _ of silentTags) proxy.dropAt(`INSERT INTO ${quote('note')}`, 'dropped')
    proxy.dropAt(`FROM ${quote('line')}`, 'dropped')
    const silent = [...silentTags.map((tag, index) => post(tag, `192.0.2.${index}`)), ask('GET /api/line/1/')]
    await until('all connections are silent', () => proxy.dropped() === silent.length)
    const behind = [post('behind'), ...Array.from({ length: 10 }, () => ask('GET /api/note/1/'))]
    expect(await Promise.all(silent)).toEqual([unavailable, unavailable, unavailable])
    expect(await Promise.all(behind)).toEqual(['201', ...Array(10).fill('200')])
    expect(await post('later')).toBe('201')
    const stored = (tag: string): Promise<number> => site.dataSource.getRepository(Note).countBy({ tag })
    expect(await Promise.all([...silentTags, 'behind', 'later'].map(stored))).toEqual([0, 0, 1, 1])
  })

  const repeatable = { headers: { 'Idempotency-Key': 'key' } }
  /**
   * Statements at which a connection becomes silent, and requests that run them. `tag` is that of the record that the request
   * would create, `isStored` whether it is created when the statement reaches the server.
   */
  const statements: readonly {
    readonly at: string
    readonly line: string
    readonly options?: SendOptions
    readonly tag?: string
    readonly isStored?: boolean
    readonly status?: number
  }[] = [
    { at: set, line: 'GET /api/note/1/' },
    { at: 'SELECT 1', line: 'GET /api/health/' },
    ...(isPostgres ? [{ at: 'SHOW statement_timeout', line: 'GET /api/note/1/' }] : []),
    { at: `FROM ${quote('note')}`, line: 'GET /api/note/1/' },
    { at: `FROM ${quote('account')}`, line: 'POST /api/page/', options: { as: 'ann', body: { title: 'a' } } },
    // Without a transaction. On MariaDB, the statement that becomes silent prepares the INSERT.
    { at: `INSERT INTO ${quote('note')}`, line: 'POST /api/note/', tag: 'note', isStored: isPostgres },
    { at: 'START TRANSACTION', line: 'POST /api/receipt/', tag: 'start' },
    { at: `INSERT INTO ${quote('receipt')}`, line: 'POST /api/receipt/', tag: 'insert' },
    { at: 'COMMIT', line: 'POST /api/receipt/', tag: 'commit', isStored: true },
    // The subscriber throws an error.
    { at: 'ROLLBACK', line: 'POST /api/memo/', tag: 'veto-after', status: 500 },
    { at: 'SAVEPOINT', line: 'POST /api/item/', options: { body: [{ pack: 1, part: 1, tag: 'item' }] } },
    { at: quote('idempotency_key'), line: 'POST /api/receipt/', tag: 'key', options: repeatable },
    { at: isPostgres ? 'FETCH' : `FROM ${quote('line')}`, line: 'GET /api/line/?format=ndjson&limit=10' },
  ]

  test.each(['dropped', 'sent'] as const)(
    'a connection that becomes silent at any statement, whose packet is %s, is closed, and a write is not repeated',
    async (packet) => {
      const outcomes = statements.map(async ({ at, line, options, tag, status }) => {
        const { proxy, ask } = await open(1)
        // Waits for the checks at mount: each of their statements waits at most for one of these requests.
        for (let request = 0; request < 20; request++) expect(await ask('GET /api/season/')).toBe('200')
        // The next request opens a connection.
        proxy.cut()
        await sleep(500)
        proxy.dropAt(at, packet)
        const body = tag === undefined ? {} : { body: { tag: `${tag}-${packet}` } }
        const reply = await ask(line, { ...body, ...options })
        // The pool has only one connection.
        const next = await ask('GET /api/note/1/')
        const counts = ['note', 'receipt', 'memo'].map(
          (table) => `(SELECT count(*) FROM ${table} WHERE tag = '${tag}-${packet}')`,
        )
        const [row] = await cluster.query(`SELECT ${counts.join(' + ')} AS stored`)
        const stored = Number(row?.['stored'])
        return { at, dropped: proxy.dropped(), reply: reply.startsWith(`${status} `) ? status : reply, next, stored }
      })
      expect(await Promise.all(outcomes)).toEqual(
        statements.map(({ at, isStored = false, status = unavailable }) => {
          const stored = packet === 'sent' && isStored ? 1 : 0
          return { at, dropped: 1, reply: status, next: '200', stored }
        }),
      )
    },
  )

  test('statements of the application have no limit, on connections of the service and in its transactions', async () => {
    const { site, ask } = await open(2)
    expect(await Promise.all([ask('GET /api/note/1/'), ask('GET /api/note/1/')])).toEqual(['200', '200'])
    const own = site.dataSource.query(sleepSql(site.dataSource, longMs))
    expect(await ask('POST /api/task/', { body: { tag: 'long' } })).toBe('201')
    await own
  })

  test('a client that does not read for a long time receives all records of a list', async () => {
    const { site, proxy } = await open(1)
    const socket = await openPaused(
      site.url,
      'GET /api/line/?format=ndjson HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
    )
    await sleep(longMs)
    socket.resume()
    let text = ''
    socket.setEncoding('latin1').on('data', (part) => {
      text += part
    })
    await new Promise((resolve) => socket.once('close', resolve))
    expect(text.split('"text"').length - 1).toBe(lineCount)
    expect(text.endsWith('\r\n0\r\n\r\n')).toBe(true)
    expect(proxy.dropped()).toBe(0)
  })

  if (isPostgres) {
    describe('with a COMMIT that takes long', () => {
      beforeAll(async () => {
        await cluster.query(
          `CREATE FUNCTION linger() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(new.score); RETURN new; END $$`,
        )
        await cluster.query(
          'CREATE CONSTRAINT TRIGGER linger AFTER UPDATE ON memo DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION linger()',
        )
      })

      test('that of the application has no limit, also on a connection whose last transaction was of the service', async () => {
        const { site, ask } = await open(1)
        await site.dataSource.getRepository(Memo).insert({ tag: 'of-application' })
        expect(await ask('POST /api/memo/', { body: { tag: 'before' } })).toBe('201')
        await site.dataSource.transaction((manager) =>
          manager.update(Memo, { tag: 'of-application' }, { score: longMs / 1000 }),
        )
        expect(await site.dataSource.getRepository(Memo).countBy({ score: longMs / 1000 })).toBe(1)
      })

      test('an answer that arrives while the event loop is blocked is read', async () => {
        const { site, ask } = await open(1)
        const { identifiers } = await site.dataSource.getRepository(Memo).insert({ tag: 'blocked' })
        const { logger } = site.dataSource
        const committing = new Promise<void>((resolve) => {
          logger.logQuery = (sql) => void (sql === 'COMMIT' && resolve())
        })
        // The answer arrives before the service stops waiting, while it cannot read.
        const reply = ask(`PATCH /api/memo/${identifiers[0]?.['id']}/`, { body: { score: 5 } })
        await committing
        await sleep(2_000)
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 6_000)
        expect(await reply).toBe('200')
      })
    })
  } else {
    test('a write that the server does not limit, as on MySQL, is cancelled', async () => {
      // MySQL does not execute comments of MariaDB.
      const asMysql = (packet: Buffer): Buffer =>
        Buffer.from(packet.toString('latin1').replaceAll('/*M!', '/*N!'), 'latin1')
      const { site, ask } = await open(1, asMysql)
      const lock = "UPDATE note SET score = 1 WHERE tag = 'first'"
      await cluster.whileLocked(lock, async () => {
        expect(await ask('PUT /api/note/1/', { body: { score: 5 } })).toBe(unavailable)
        await until('the write is cancelled', async () => (await cluster.lockWaits()) === 0)
      })
      expect(await ask('GET /api/note/1/')).toBe('200')
      expect(await site.dataSource.getRepository(Note).findOneByOrFail({ id: 1 })).toMatchObject({ score: 1 })
    })
  }
})
