import { BeforeUpdate, Column, Entity, ManyToOne, PrimaryColumn, PrimaryGeneratedColumn, VersionColumn } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf } from '../client'
import { permitAllAsUser1 } from '../support/access'
import { isPostgres } from '../world/leg'
import { openWorld, type World } from '../world/world'

/** Converts null to undefined. */
const lower = { to: (value: string | null) => value?.toLowerCase(), from: (value: unknown) => value }
/** Throws for null. */
const trimmed = { to: (value: string) => value.trim(), from: (value: unknown) => value }
const optional = { to: (value: unknown) => value ?? undefined, from: (value: unknown) => value }

@Entity()
@Resource({ auth: permitAllAsUser1 })
class Team {
  @PrimaryColumn({ type: 'varchar', length: 20, transformer: lower }) code!: string
}

@Entity()
@Resource({ auth: permitAllAsUser1 })
class Crew {
  @PrimaryColumn({ type: 'varchar', length: 20, transformer: trimmed }) code!: string
}

@Entity()
@Resource({ auth: permitAllAsUser1 })
class Job {
  @PrimaryGeneratedColumn() id!: number
  @Column({ default: 'x' }) title!: string
  @Column({ type: 'varchar', nullable: true, transformer: lower }) note!: string | null
  @Column({ type: 'varchar', nullable: true, default: 'low', transformer: lower }) level!: string | null
  @Column({ type: isPostgres ? 'jsonb' : 'simple-json', nullable: true, transformer: optional }) extra!: unknown
  @ManyToOne(() => Team, { nullable: true }) team!: Team | null
  @ManyToOne(() => Crew, { nullable: true }) crew!: Crew | null
}

@Entity()
@Resource({ auth: permitAllAsUser1 })
class Site {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'varchar', nullable: true, transformer: trimmed }) place!: string | null
}

/** Has listeners and a version, so that it is written as an entity. */
@Entity()
@Resource({ auth: permitAllAsUser1 })
class Watched {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'varchar', nullable: true, transformer: lower }) note!: string | null
  @Column({ type: 'varchar', nullable: true, transformer: lower }) draft!: string | null
  @VersionColumn() version!: number

  @BeforeUpdate()
  clearDraft(): void {
    this.draft = null
  }
}

let world: World
const { get, post, put } = apiOf(() => world.url)

beforeAll(async () => {
  world = await openWorld({ entities: [Team, Crew, Job, Site, Watched] })
  await post('team', { code: 'red' })
  await post('crew', { code: 'blue' })
})
afterAll(() => world.close())

const given = { note: 'a', level: 'high', extra: 1, team_id: 'red', crew_id: 'blue' }

test.each([
  { note: null },
  { note: null, title: 'other' },
  { level: null },
  { extra: null },
  { team_id: null },
  { crew_id: null },
  { team_id: null, crew_id: null, note: null, level: null },
])('PUT stores null: %j', async (body) => {
  const { id } = (await post('job', given)).json() as { id: number }
  const reply = await put(`job/${id}`, body)
  expect([reply.status, reply.json()]).toEqual([200, expect.objectContaining(body)])
  expect((await get(`job/${id}`)).json()).toMatchObject(body)
})

test('POST stores null, and the default of a field that is left out', async () => {
  expect((await post('job', { note: null, level: null, team_id: null, crew_id: null })).json()).toMatchObject({
    note: null,
    level: null,
    team_id: null,
    crew_id: null,
  })
  expect((await post('job', {})).json()).toMatchObject({ note: null, level: 'low', extra: null })
})

test('PUT and a listener can store null on an entity with listeners', async () => {
  const { id } = (await post('watched', { note: 'a', draft: 'b' })).json() as { id: number }
  expect((await put(`watched/${id}`, { note: null })).json()).toMatchObject({ note: null, draft: null, version: 2 })
  expect((await get(`watched/${id}`)).json()).toMatchObject({ note: null, draft: null })
})

test('null is refused with 400 if the transformer throws for it', async () => {
  const refused = { status: 400, errors: [expect.objectContaining({ field: 'place' })] }
  expect((await post('site', { place: null })).json()).toMatchObject(refused)
  const { id } = (await post('site', { place: 'here' })).json() as { id: number }
  expect((await put(`site/${id}`, { place: null })).json()).toMatchObject(refused)
  expect((await get(`site/${id}`)).json()).toMatchObject({ place: 'here' })
  expect(world.faults).toEqual([])
})
