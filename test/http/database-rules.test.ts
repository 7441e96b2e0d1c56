import { EntitySchema } from 'typeorm'
import { apiOf } from '../client'
import { permitAll } from '../support/access'
import { isMariadb, isPostgres, isSqlite } from '../world/leg'
import { openWorld, type World } from '../world/world'

/** A table with constraints and triggers that TypeORM does not know. */
const Ruled = new EntitySchema({
  name: 'ruled',
  columns: {
    id: { type: Number, primary: true, generated: true },
    code: { type: Number, nullable: true },
    word: { type: 'varchar', length: 40, nullable: true },
  },
})

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [Ruled],
    mount: { resources: [{ entity: Ruled, auth: permitAll }] },
    // A single connection, so that its role is that of all requests.
    ...(isPostgres && { source: { poolSize: 1 } as object }),
  })
})
afterAll(() => world.close())
const { post, put } = apiOf(() => world.url)

/** The statuses of POST and PUT with a body that violates the constraints, and with one that does not. */
async function statuses(refused: object, kept: object): Promise<readonly number[]> {
  const created = await post('ruled', kept)
  const { id } = created.json() as { id: number }
  return [created.status, (await post('ruled', refused)).status, (await put(`ruled/${id}`, refused)).status]
}

/** Errors that a trigger can raise, by name. */
const raised = isPostgres
  ? ['P0001', 'P0002', 'P0004', '45000', 'U0001', '99001', '42501'].map(
      (code) => `RAISE EXCEPTION 'canary' USING ERRCODE = '${code}'`,
    )
  : isMariadb
    ? [
        `SIGNAL SQLSTATE '45000'`,
        `SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 30001`,
        `SIGNAL SQLSTATE 'U0001' SET MYSQL_ERRNO = 30001`,
        `SIGNAL SQLSTATE '02000'`,
        `SIGNAL SQLSTATE '22003'`,
      ]
    : [`SELECT RAISE(ABORT, 'canary')`, `SELECT RAISE(ROLLBACK, 'canary')`]

test.each(raised)('a write that a trigger refuses is a refusal, whatever the error code is: %s', async (raise) => {
  if (isPostgres) {
    await world.sql(`CREATE OR REPLACE FUNCTION refuse_code() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN IF NEW.code < 0 THEN ${raise}; END IF; RETURN NEW; END $$`)
    await world.sql(`CREATE OR REPLACE TRIGGER "ruled" BEFORE INSERT OR UPDATE ON "ruled"
      FOR EACH ROW EXECUTE FUNCTION refuse_code()`)
  } else {
    for (const event of ['INSERT', 'UPDATE']) {
      await world.sql(`DROP TRIGGER IF EXISTS "ruled_${event}"`)
      const trigger = `CREATE TRIGGER "ruled_${event}" BEFORE ${event} ON "ruled"`
      const refuse = isMariadb
        ? `FOR EACH ROW IF NEW.code < 0 THEN ${raise}; END IF`
        : `WHEN NEW.code < 0 BEGIN ${raise}; END`
      await world.sql(`${trigger} ${refuse}`)
    }
  }
  expect(await statuses({ code: -1 }, { code: 1 })).toEqual([201, 400, 400])
})

/** Expressions of generated columns and CHECKs that fail for a value, and this value. */
const failing: readonly (readonly [type: string, expression: string, value: object])[] = isPostgres
  ? [['int', '1 / code', { code: 0 }]]
  : isMariadb
    ? [
        ['int', '1 / code', { code: 0 }],
        ['datetime', `ADDDATE('2020-01-01', code)`, { code: 2147483647 }],
        ['varchar(40) CHARACTER SET latin1', 'CONVERT(word USING latin1)', { word: '😀' }],
      ]
    : [
        ['text', `json_extract(word, '$.a')`, { word: '{' }],
        ['text', `abs(code - 9223372036854775807 - 1)`, { code: 0 }],
      ]

test.each(failing)(
  'a value for which a generated column of %s cannot be computed is refused: %s',
  async (type, expression, value) => {
    const stored = isSqlite ? 'VIRTUAL' : 'STORED'
    await world.sql(`ALTER TABLE "ruled" ADD COLUMN made ${type} GENERATED ALWAYS AS (${expression}) ${stored}`)
    // SQLite computes a virtual column only when the column is read or checked.
    if (isSqlite) await world.sql(`CREATE INDEX "ruled_made" ON "ruled" (made)`)
    expect(await statuses(value, { code: 1, word: '{}' })).toEqual([201, 400, 400])
    if (isSqlite) await world.sql('DROP INDEX "ruled_made"')
    await world.sql('ALTER TABLE "ruled" DROP COLUMN made')
  },
)

// Only PostgreSQL has row level security.
test('a record that violates a policy of row level security is refused', async () => {
  if (!isPostgres) return
  const [{ schema } = {}] = await world.sql('SELECT current_schema() AS schema')
  for (const sql of [
    'ALTER TABLE "ruled" ENABLE ROW LEVEL SECURITY',
    'CREATE POLICY "own" ON "ruled" USING (true) WITH CHECK (code = 1)',
    `GRANT USAGE ON SCHEMA ${schema} TO pg_monitor`,
    `GRANT ALL ON ALL TABLES IN SCHEMA ${schema} TO pg_monitor`,
    `GRANT ALL ON ALL SEQUENCES IN SCHEMA ${schema} TO pg_monitor`,
    'SET ROLE pg_monitor',
  ])
    await world.sql(sql)
  // A principal that is not anonymous gets 403 (database-settings.test.ts).
  expect(await statuses({ code: 2 }, { code: 1 })).toEqual([201, 401, 401])
  expect(world.faults).toEqual([])
  await world.sql('RESET ROLE')
  await world.sql('REVOKE ALL ON "ruled" FROM pg_monitor')
  // A missing privilege of the role is a mistake of the application, and not of the request.
  await world.sql('SET ROLE pg_monitor')
  expect((await post('ruled', { code: 1 })).status).toBe(500)
  await world.sql('RESET ROLE')
})
