import { Column, DeleteDateColumn, Entity, PrimaryGeneratedColumn, VirtualColumn } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { type Reply, send } from '../client'
import { permitAllAsUser1 } from '../support/access'
import { isMariadb, isPostgres } from '../world/leg'
import { openWorld, type World } from '../world/world'

/** Triggers that change the written record: AFTER triggers, except on MariaDB, where these cannot change their own table. */

abstract class Counted {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 10, unique: true }) code!: string
  @Column({ type: 'int', default: 0 }) amount!: number
  @Column({ type: 'int', default: 0 }) writes!: number
  @DeleteDateColumn() deleted!: Date | null
}

const options = { auth: permitAllAsUser1, bulk: true, may: { restore: true } } as const

/** Is read after each write, because it has a virtual column. */
@Entity()
@Resource(options)
class Reread extends Counted {
  @VirtualColumn({ type: 'int', query: (alias) => `${alias}.writes` }) same!: number
}

@Entity()
@Resource(options)
class Returned extends Counted {}

function triggersOf(table: string): readonly string[] {
  if (isMariadb) {
    return ['INSERT', 'UPDATE'].map(
      (event) =>
        `CREATE TRIGGER ${table}_${event} BEFORE ${event} ON ${table} FOR EACH ROW SET NEW.writes = NEW.writes + 1`,
    )
  }
  const count = `UPDATE ${table} SET writes = writes + 1 WHERE id = NEW.id`
  if (!isPostgres) {
    return ['INSERT', 'UPDATE OF amount, deleted'].map(
      (event, index) => `CREATE TRIGGER ${table}_${index} AFTER ${event} ON ${table} BEGIN ${count}; END`,
    )
  }
  return [
    `CREATE FUNCTION ${table}_count() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${count}; RETURN NULL; END $$`,
    `CREATE TRIGGER ${table}_write AFTER INSERT OR UPDATE OF amount, deleted ON ${table} FOR EACH ROW
      EXECUTE FUNCTION ${table}_count()`,
  ]
}

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [Reread, Returned],
    seed: async (dataSource) => {
      for (const sql of ['reread', 'returned'].flatMap(triggersOf)) await dataSource.query(sql)
    },
  })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

const request = (line: string, body?: unknown): Promise<Reply> =>
  send(world.url, line.replace(' ', ' /api/'), body === undefined ? {} : { body })

test('the response has the changes of triggers if the record is read after the write', async () => {
  const expectCurrent = async (reply: Reply, writes: number): Promise<void> => {
    const item = await request('GET reread/1/')
    expect([reply.text, reply.headers.etag]).toEqual([item.text, item.headers.etag])
    expect(item.json()).toMatchObject({ writes, same: writes })
  }
  await expectCurrent(await request('POST reread/', { code: 'a' }), 1)
  await expectCurrent(await request('PUT reread/1/', { amount: 1 }), 2)
  await expectCurrent(await request('POST reread/?on_conflict=code', { code: 'a', amount: 2 }), 3)
  await request('DELETE reread/1/')
  await expectCurrent(await request('POST reread/1/restore/'), 5)
  expect((await request('POST reread/', [{ code: 'b' }])).json()).toMatchObject({ objects: [{ writes: 1, same: 1 }] })
})

test('without a virtual column it has the record before AFTER triggers', async () => {
  const writes = isMariadb ? 1 : 0
  expect((await request('POST returned/', { code: 'a' })).json()).toMatchObject({ writes })
  expect((await request('GET returned/1/')).json()).toMatchObject({ writes: 1 })
})
