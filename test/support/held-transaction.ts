import {
  Column,
  type DataSource,
  type DataSourceOptions,
  Entity,
  EventSubscriber,
  type InsertEvent,
  ManyToOne,
  OneToMany,
  PrimaryGeneratedColumn,
  type Relation,
} from 'typeorm'
import { hashPassword, type MountOptions, Resource, userRule } from 'typeorm-resources'
import { type Reply, send } from '../client'
import { User } from '../world/entities'
import type { World, WorldOptions } from '../world/world'
import { permitAll } from './access'
import { insertRows } from './insert-rows'
import { type SqliteFile, sqliteFile } from './sqlite-file'
import { worldPerTest } from './world-per-test'

/** A service on a SQLite file, in which a POST can keep its transaction open. */

@Entity()
@Resource({ auth: permitAll })
export class Project {
  @PrimaryGeneratedColumn() id!: number
  @Column() name!: string
  @OneToMany(
    () => Entry,
    ({ project }) => project,
  )
  entries!: Relation<Entry>[]
}

@Entity()
@Resource({ auth: permitAll, aggregate: true })
export class Entry {
  @PrimaryGeneratedColumn() id!: number
  @Column() tag!: string
  @Column({ default: 1 }) hours!: number
  @ManyToOne(
    () => Project,
    ({ entries }) => entries,
    { nullable: false },
  )
  project!: Relation<Project>
}

/** A resource that only users can read. */
@Entity()
@Resource({ auth: userRule() })
export class Paper {
  @PrimaryGeneratedColumn() id!: number
  @Column() title!: string
}

/** Transaction of a POST of an entry with the tag `held`, while it is open. */
interface Held {
  readonly begun: () => void
  readonly released: Promise<void>
}

let held: Held | undefined

/** Makes the transaction that inserts an entry with the tag `held` insert 50 more entries, and wait until it is released. */
@EventSubscriber()
class Hold {
  listenTo(): typeof Entry {
    return Entry
  }

  async afterInsert({ entity, queryRunner }: InsertEvent<Entry>): Promise<void> {
    if (!entity.tag.startsWith('held')) return
    await queryRunner.query(
      `INSERT INTO "entry" ("tag", "projectId")
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50) SELECT 'more', 1 FROM n`,
    )
    held?.begun()
    await held?.released
    if (entity.tag === 'held and refused') throw new Error('rolled back')
  }
}

/** Number of entries before the first POST. */
export const entryCount = 100
/** Number of entries that a POST of one with the tag `held` creates. */
export const heldCount = 51

export interface FileWorld extends World {
  readonly file: SqliteFile
}

/** Options of the world in a file. */
export interface FileWorldOptions extends Pick<WorldOptions, 'entities' | 'seed'> {
  readonly source?: object
  readonly mount?: MountOptions
}

/**
 * Returns a function that opens worlds in files for the running test, with a project, its entries, a paper, and the user `ann`. Call
 * it at the top level of a test file.
 */
export function fileWorldPerTest(): (options?: FileWorldOptions) => Promise<FileWorld> {
  const open = worldPerTest()
  const files: SqliteFile[] = []
  afterEach(() => {
    for (const { remove } of files.splice(0)) remove()
  })
  return async ({ entities = [], seed, source, mount = {} } = {}) => {
    const file = sqliteFile()
    files.push(file)
    const world = await open({
      entities: [User, Project, Entry, Paper, ...(entities as (() => void)[])],
      source: { ...file.source, subscribers: [Hold], ...source } as Partial<DataSourceOptions>,
      mount,
      seed: async (dataSource) => {
        await insertRecords(dataSource)
        await seed?.(dataSource)
      },
    })
    return { ...world, file }
  }
}

async function insertRecords(dataSource: DataSource): Promise<void> {
  await dataSource.getRepository(User).insert({ username: 'ann', password: await hashPassword('ann') })
  await dataSource.getRepository(Project).insert({ name: 'first' })
  const entries = Array.from({ length: entryCount }, (_, index) => ({ tag: `old ${index}`, project: { id: 1 } }))
  await insertRows(dataSource, Entry, entries)
  await dataSource.getRepository(Paper).insert({ title: 'paper' })
}

/**
 * Starts a POST, and waits until its transaction has inserted its rows.
 * @returns a function that lets the transaction end, and resolves to the response
 */
export async function holdTransaction({ url }: Pick<World, 'url'>, tag = 'held'): Promise<() => Promise<Reply>> {
  let release = (): void => {}
  let reply: Promise<Reply> | undefined
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  await new Promise<void>((begun) => {
    held = { begun, released }
    reply = send(url, 'POST /api/entry/', { body: { tag, project_id: 1 } })
  })
  return async () => {
    release()
    if (reply === undefined) throw new Error('no request was sent')
    return reply
  }
}

/** The number of entries that a list reports; the status of the response if it is not 200. */
export async function countEntries({ url }: Pick<World, 'url'>): Promise<number> {
  const reply = await send(url, 'GET /api/entry/?count=exact&limit=0')
  return reply.status === 200 ? (reply.json() as { meta: { total: number } }).meta.total : reply.status
}
