import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { DataSource, type DataSourceOptions, type ObjectLiteral } from 'typeorm'
import { hashPassword } from 'typeorm-resources'
import { Note, User } from './model'
import { highestScore, noteCount, password, userCount } from './work'

/** What every contestant has of a database. */
export function optionsFor(database: string): DataSourceOptions {
  const entities = [User, Note]
  if (database.startsWith('postgres:')) return { type: 'postgres', url: database, entities }
  if (database.startsWith('mysql:')) return { type: 'mariadb', url: database, entities }
  return {
    type: 'better-sqlite3',
    database,
    entities,
    enableWAL: true,
    // So that what is measured is code, not the disk: nobody waits for it at each commit.
    prepareDatabase: (connection) => void connection.pragma('synchronous = NORMAL'),
  }
}

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

/** Fills an empty database; one that is filled already is left. */
export async function fill(database: string): Promise<void> {
  const isFile = !database.includes('://')
  if (isFile && existsSync(database)) return
  if (isFile) mkdirSync(dirname(database), { recursive: true })
  const dataSource = new DataSource({ ...optionsFor(database), synchronize: true, dropSchema: true })
  try {
    await dataSource.initialize()
    const hash = await hashPassword(password)
    await dataSource.transaction(async (manager) => {
      const insert = (entity: typeof User | typeof Note, values: ObjectLiteral[]): Promise<unknown> =>
        manager.createQueryBuilder().insert().into<ObjectLiteral>(entity).values(values).updateEntity(false).execute()
      await insert(User, Array.from({ length: userCount }, userOf(hash)))
      for (let start = 0; start < noteCount; start += 1000) {
        const length = Math.min(1000, noteCount - start)
        await insert(
          Note,
          Array.from({ length }, (_, index) => noteOf(start + index)),
        )
      }
    })
    await dataSource.query('ANALYZE')
  } catch (error) {
    if (isFile) rmSync(database, { force: true })
    throw error
  } finally {
    await dataSource.destroy()
  }
}
