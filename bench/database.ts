import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { DataSource, type DataSourceOptions, type ObjectLiteral } from 'typeorm'
import { hashPassword } from 'typeorm-resources'
import { connectionOptions, engineOf } from './engines'
import { Note, User } from './model'
import { allEntities, FullNote, FullUser } from './model-all'
import { highestScore, noteCount, password, userCount } from './work'

/** TypeORM's options for the notes and their users. */
export function optionsFor(database: string): DataSourceOptions {
  return { ...connectionOptions(database), entities: [User, Note] }
}

/** Name of the SQLite file that each server gets a copy of. */
export const seedFile = `seed-${noteCount}.sqlite`

const words = 'amber birch cloud delta ember frost grove harbor island juniper kettle lantern meadow north opal'.split(
  ' ',
)
const wordOf = (index: number): string => words[index % words.length] ?? ''
const sentence = (index: number, length: number): string =>
  Array.from({ length }, (_, position) => wordOf(index * 7 + position * position * 3 + position)).join(' ')

const userOf = (hash: string) => (_: unknown, index: number) => ({
  username: `user${index + 1}`,
  email: `user${index + 1}@example.org`,
  password: hash,
  admin: index === 0,
  active: true,
})

function noteOf(index: number): Readonly<Record<string, unknown>> {
  return {
    title: `Note ${index + 1} of ${wordOf(index)}`,
    body: sentence(index, 16),
    score: (index * 7919) % highestScore,
    published: index % 4 !== 0,
    created: new Date(Date.UTC(2024, 0, 1) + index * 61_000),
    authorId: 1 + ((index * 31) % userCount),
  }
}

/** Creates and fills the tables of all implementations. An existing SQLite file is kept; the tables of a server are replaced. */
export async function fill(database: string): Promise<void> {
  const engine = engineOf(database)
  const isFile = engine === 'sqlite'
  if (isFile && existsSync(database)) return
  if (isFile) mkdirSync(dirname(database), { recursive: true })
  const options = { ...connectionOptions(database), entities: allEntities }
  const dataSource = new DataSource({ ...options, synchronize: true, dropSchema: true })
  try {
    await dataSource.initialize()
    const hash = await hashPassword(password)
    await dataSource.transaction(async (manager) => {
      const insert = (entity: typeof FullUser | typeof FullNote, values: ObjectLiteral[]): Promise<unknown> =>
        manager.createQueryBuilder().insert().into<ObjectLiteral>(entity).values(values).updateEntity(false).execute()
      await insert(FullUser, Array.from({ length: userCount }, userOf(hash)))
      for (let start = 0; start < noteCount; start += 1000) {
        const length = Math.min(1000, noteCount - start)
        await insert(
          FullNote,
          Array.from({ length }, (_, index) => noteOf(start + index)),
        )
      }
    })
    await dataSource.query(analyze[engine])
  } catch (error) {
    if (isFile) rmSync(database, { force: true })
    throw error
  } finally {
    await dataSource.destroy()
  }
}

/** Statements that update the statistics of the query planner. */
const analyze = { sqlite: 'ANALYZE', postgres: 'VACUUM ANALYZE', mariadb: 'ANALYZE TABLE notes, users' } as const
