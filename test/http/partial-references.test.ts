import {
  BeforeInsert,
  Column,
  DeleteDateColumn,
  Entity,
  JoinColumn,
  ManyToOne,
  OneToMany,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type Relation,
} from 'typeorm'
import { anonymous, Resource } from 'typeorm-resources'
import { type Reply, send } from '../client'
import { permitAll } from '../support/access'
import { openWorld, type World } from '../world/world'

/**
 * Foreign keys of two columns of which a request writes one: the other is stored and hidden, or the database, the class or a
 * listener fills it in.
 */

/** The target is hidden, but the region is not. */
const hidden = { exclude: ['number', 'target'], fields: { region: { read: true } } } as const

/** Called by the access rule of the targets. */
let onCheck = async (): Promise<void> => {}

const toTarget = [
  { name: 'region', referencedColumnName: 'region' },
  { name: 'number', referencedColumnName: 'number' },
]

/** Entities with a prefix of their own. @param isScoped whether only targets of eu are visible */
function entitiesOf(prefix: string, isScoped: boolean) {
  @Entity(`${prefix}_target`)
  @Resource({
    name: `${prefix}-target`,
    auth: () => onCheck().then(() => anonymous),
    ...(isScoped && { scope: () => ({ region: 'eu' }) }),
  })
  class Target {
    @PrimaryColumn({ type: 'varchar', length: 10 }) region!: string
    @PrimaryColumn('int') number!: number
    @DeleteDateColumn() deleted!: Date | null
  }

  abstract class Reference {
    @PrimaryGeneratedColumn() id!: number
    @Column({ type: 'varchar', length: 10, nullable: true, unique: true }) code!: string | null
    @Column({ type: 'varchar', length: 10 }) region!: string
    @ManyToOne(() => Target) @JoinColumn(toTarget) target!: Relation<Target>
  }

  @Entity(`${prefix}_ref`)
  @Resource({ name: `${prefix}-ref`, auth: permitAll, ...hidden, bulk: true })
  class Ref extends Reference {
    @Column('int', { default: 5 }) number!: number
  }

  @Entity(`${prefix}_open`)
  @Resource({ name: `${prefix}-open`, auth: permitAll, bulk: true })
  class Open extends Reference {
    @Column('int', { default: 5 }) number!: number
  }

  /** The class sets the number. */
  @Entity(`${prefix}_initial`)
  @Resource({ name: `${prefix}-initial`, auth: permitAll, ...hidden, bulk: true })
  class Initial extends Reference {
    @Column('int', { nullable: true }) number: number | null = 5
  }

  /** A listener sets the number. */
  @Entity(`${prefix}_listening`)
  @Resource({ name: `${prefix}-listening`, auth: permitAll, ...hidden, bulk: true })
  class Listening extends Reference {
    @Column('int', { nullable: true }) number!: number | null
    @BeforeInsert() setNumber(): void {
      this.number ??= 5
    }
  }

  /** Nothing sets the number. */
  @Entity(`${prefix}_empty`)
  @Resource({ name: `${prefix}-empty`, auth: permitAll, ...hidden, bulk: true })
  class Empty extends Reference {
    @Column('int', { nullable: true }) number!: number | null
  }

  /** The application sets the region. */
  @Entity(`${prefix}_preset`)
  @Resource({ name: `${prefix}-preset`, auth: permitAll, preset: () => ({ region: 'us' }) })
  class Preset extends Reference {
    @Column('int', { default: 5 }) number!: number
  }

  @Entity(`${prefix}_box`)
  @Resource({ name: `${prefix}-box`, auth: permitAll, nested: ['parts'] })
  class Box {
    @PrimaryColumn({ type: 'varchar', length: 10 }) region!: string
    @PrimaryColumn('int') shelf!: number
    @OneToMany(
      () => Part,
      (part) => part.box,
    )
    parts!: Relation<Part>[]
  }

  @Entity(`${prefix}_part`)
  @Resource({ name: `${prefix}-part`, auth: permitAll, ...hidden })
  class Part {
    @PrimaryGeneratedColumn() id!: number
    @Column({ type: 'varchar', length: 10 }) region!: string
    @Column('int', { default: 5 }) number!: number
    @ManyToOne(() => Target) @JoinColumn(toTarget) target!: Relation<Target>
    @ManyToOne(
      () => Box,
      (box) => box.parts,
    )
    @JoinColumn([
      { name: 'box_region', referencedColumnName: 'region' },
      { name: 'box_shelf', referencedColumnName: 'shelf' },
    ])
    box!: Relation<Box>
  }
  return { Target, Ref, Open, others: [Initial, Listening, Empty, Preset, Box, Part] }
}

/** The target of us is out of scope, or soft-deleted. */
const variants = {
  scoped: entitiesOf('scoped', true),
  deleted: entitiesOf('deleted', false),
} as const
const prefixes = Object.keys(variants) as (keyof typeof variants)[]

let world: World
beforeAll(async () => {
  const entities = Object.values(variants).flatMap(({ Target, Ref, Open, others }) => [Target, Ref, Open, ...others])
  world = await openWorld({ entities })
})
beforeEach(async () => {
  for (const prefix of prefixes) {
    for (const name of ['ref', 'open', 'initial', 'listening', 'empty', 'preset', 'part', 'box', 'target']) {
      await world.sql(`DELETE FROM "${prefix}_${name}"`)
    }
    const { Target } = variants[prefix]
    const deleted = new Date()
    await world.dataSource.getRepository(Target).insert([
      { region: 'eu', number: 5 },
      { region: 'eu', number: 6, deleted },
      { region: 'us', number: 5, ...(prefix === 'deleted' && { deleted }) },
      { region: 'us', number: 6 },
    ])
    for (const name of ['ref', 'open']) {
      // With SQL: TypeORM would not insert the id on PostgreSQL.
      const columns = '"id", "code", "region", "number"'
      await world.sql(`INSERT INTO "${prefix}_${name}" (${columns}) VALUES (1000, 'a', 'eu', 5)`)
    }
  }
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

/** Sends a body of JSON with `$region` replaced by a region. */
function sendFor(line: string, body: string, region: string): Promise<Reply> {
  const isLines = body.startsWith('\n')
  return send(world.url, line, {
    body: body.replaceAll('$region', region).trim(),
    headers: { 'Content-Type': isLines ? 'application/x-ndjson' : 'application/json' },
  })
}

const json = '{"region":"$region"}'

describe.each(prefixes)('a partly written foreign key to a %s record', (prefix) => {
  test.each([
    ['PUT', 'ref/1000/', json],
    ['PATCH', 'ref/1000/', json],
    ['PUT', 'open/1000/', json],
    ['POST', 'ref/', json],
    ['POST', 'open/', json],
    ['POST', 'initial/', json],
    ['POST', 'listening/', json],
    ['POST', 'ref/', `[{"region":"eu"},${json},${json}]`],
    ['POST', 'open/', `[${json}]`],
    ['POST', 'listening/', `[${json}]`],
    ['POST', 'ref/', `\n{"region":"eu"}\n${json}`],
    ['POST', 'ref/?on_conflict=code', '{"code":"a","region":"$region"}'],
    ['POST', 'ref/?on_conflict=code', '{"code":"b","region":"$region"}'],
    ['POST', 'ref/?on_conflict=code', '[{"code":"a","region":"$region"},{"code":"b","region":"$region"}]'],
    ['POST', 'box/', '{"region":"eu","shelf":1,"parts":[{"region":"eu"},{"region":"$region"}]}'],
  ])('gets the same response to %s %s%s as one to a missing record', async (method, path, body) => {
    const line = `${method} /api/${prefix}-${path}`
    const [hidden, missing] = [await sendFor(line, body, 'us'), await sendFor(line, body, 'xx')]
    expect([hidden.status, hidden.text]).toEqual([400, missing.text])
    if (!path.startsWith('open')) expect(hidden.text).not.toMatch(/number|target/)
    const [resource] = path.split('/')
    const table = `${prefix}_${resource === 'box' ? 'part' : resource}`
    expect(await world.sql(`SELECT * FROM "${table}" WHERE "region" = 'us'`)).toEqual([])
    const visible = await sendFor(line, body, 'eu')
    if (visible.status !== 200) expect([visible.status, visible.text]).toEqual([201, expect.any(String)])
  })

  test('gets the same error for a default value as for one in the body', async () => {
    const line = `POST /api/${prefix}-open/`
    const written = await sendFor(line, '{"region":"us","number":5}', '')
    const filled = await sendFor(line, '{"region":"us"}', '')
    expect([filled.status, filled.text]).toEqual([400, written.text])
    expect(filled.json()).toMatchObject({ errors: [{ field: 'target_id' }] })
  })

  test.each(['ref', 'open', 'initial'])(
    'gets the same errors in an array with a missing record: %s',
    async (resource) => {
      const line = `POST /api/${prefix}-${resource}/`
      const body = '[{"region":"$region"},{"region":"xx"}]'
      const [hidden, missing] = [await sendFor(line, body, 'us'), await sendFor(line, body, 'zz')]
      expect([hidden.status, hidden.text]).toEqual([400, missing.text])
      expect(hidden.json()).toMatchObject({ errors: [{ index: 0 }, { index: 1 }] })
    },
  )

  test('is checked in a stored record of a nested write', async () => {
    const created = await sendFor(`POST /api/${prefix}-box/`, '{"region":"eu","shelf":1,"parts":[{"region":"eu"}]}', '')
    expect(created.status).toBe(201)
    const [part] = await world.sql(`SELECT "id" FROM "${prefix}_part"`)
    const update = (region: string): Promise<Reply> =>
      sendFor(`PATCH /api/${prefix}-box/eu,1/`, `{"parts":[{"id":${part?.id},"region":"$region"}]}`, region)
    const [hidden, missing] = [await update('us'), await update('xx')]
    expect([hidden.status, hidden.text]).toEqual([400, missing.text])
    expect((await update('eu')).status).toBe(200)
  })

  test.each([
    ['nothing fills in the other column', 'empty', json],
    ['the application sets the written column', 'preset', '{"code":"b"}'],
  ])('is not checked if %s', async (_, resource, body) => {
    expect((await sendFor(`POST /api/${prefix}-${resource}/`, body, 'us')).status).toBe(201)
  })

  test('cannot be changed in several records', async () => {
    expect((await sendFor(`PATCH /api/${prefix}-ref/`, json, 'us')).status).toBe(400)
  })
})

test('a hidden column that another request changes meanwhile is read again', async () => {
  await world.sql(`UPDATE "scoped_ref" SET "region" = 'us'`)
  const { onCheck: previous } = { onCheck }
  onCheck = async () => {
    onCheck = previous
    await world.sql(`UPDATE "scoped_ref" SET "number" = 6`)
  }
  const reply = await sendFor('PUT /api/scoped-ref/1000/', json, 'eu')
  expect([reply.status, onCheck]).toEqual([400, previous])
  expect(await world.sql(`SELECT "region" FROM "scoped_ref"`)).toEqual([{ region: 'us' }])
})
