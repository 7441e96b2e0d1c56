import { DataSource, type EntityTarget, type ObjectLiteral } from 'typeorm'
import { hashPassword, IdempotencyKey } from 'typeorm-resources'
import { Entry } from '../../sample/tracker/billing'
import { Company, Membership, Person } from '../../sample/tracker/people'
import { Comment, Project, Tag, Task } from '../../sample/tracker/projects'
import { trackerEntities } from '../../sample/tracker/seed'

/** Numbers of records of each of two companies. The person who sends the requests is a member of the first. */
export const counts = { persons: 12, projects: 8, tasks: 345, commentsPerTask: 30, entries: 15_000, weeks: 26 }
export const pageSize = 20
/** A manager of the first company, whose password is the name. */
export const username = 'person-1-1'

export const open = (file: string, synchronize = false): Promise<DataSource> =>
  new DataSource({
    type: 'better-sqlite3',
    database: file,
    entities: [...trackerEntities, IdempotencyKey],
    synchronize,
  }).initialize()

const each = <T>(count: number, build: (index: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, index) => build(index))

/** Creates a tracker with two companies of the same size. Ids of the first company come first. */
export async function seed(file: string): Promise<void> {
  const dataSource = await open(file, true)
  const password = await hashPassword(username)
  await insert(dataSource, Tag, [{ id: 1, label: 'urgent' }])
  for (const company of [1, 2]) await seedCompany(dataSource, company, password)
  await dataSource.destroy()
}

async function seedCompany(dataSource: DataSource, company: number, password: string): Promise<void> {
  const { persons, projects, tasks, commentsPerTask, entries, weeks } = counts
  const idOf = (count: number, index: number): number => 1 + (company - 1) * count + (index % count)
  const person = (index: number) => idOf(persons, index)
  const taskOf = (index: number) => idOf(tasks, index)
  const rows: readonly (readonly [EntityTarget<ObjectLiteral>, readonly ObjectLiteral[]])[] = [
    [Company, [{ id: company, name: `Company ${company}` }]],
    [Person, each(persons, (index) => ({ id: person(index), username: `person-${company}-${index + 1}`, password }))],
    [
      Membership,
      each(persons, (index) => ({ person: person(index), company, role: index === 0 ? 'manager' : 'member' })),
    ],
    [Project, each(projects, (index) => ({ id: idOf(projects, index), name: `Project ${index}`, company }))],
    [Tag, each(2, (index) => ({ id: 2 * company + index, label: `tag ${index}`, company }))],
    [
      Task,
      each(tasks, (index) => ({
        id: taskOf(index),
        title: `Task ${index} of the company`,
        state: ['open', 'doing', 'done'][index % 3],
        project: idOf(projects, index),
        assignee: person(index),
      })),
    ],
    ['task_tags_tag', each(2 * tasks, (index) => ({ taskId: taskOf(index >> 1), tagId: [1, 2 * company][index % 2] }))],
    [
      Comment,
      each(tasks * commentsPerTask, (index) => ({
        text: 'A comment of about the length that comments have, which is a line or two.',
        task: taskOf(index),
        author: person(index),
      })),
    ],
    // Each person works on three projects: tasks whose index has the same remainder belong to one project.
    [
      Entry,
      each(entries, (index) => ({
        minutes: 15 + (index % 32) * 15,
        day: dayOf(index % (weeks * 7)),
        task: taskOf(projects * (index % 40) + (((index % persons) + (Math.floor(index / persons) % 3)) % projects)),
        person: person(index),
      })),
    ],
  ]
  for (const [entity, values] of rows) await insert(dataSource, entity, values)
}

const dayOf = (index: number): string => new Date(Date.UTC(2026, 0, 5 + index)).toISOString().slice(0, 10)

/** Inserts rows in parts, because a statement has a maximum number of values. */
async function insert(
  { manager }: DataSource,
  entity: EntityTarget<ObjectLiteral>,
  rows: readonly ObjectLiteral[],
): Promise<void> {
  await manager.transaction(async (transaction) => {
    for (let start = 0; start < rows.length; start += 1000) {
      const values = rows.slice(start, start + 1000)
      await transaction.createQueryBuilder().insert().into(entity).values(values).updateEntity(false).execute()
    }
  })
}
