import type { DataSource, EntityTarget, ObjectLiteral } from 'typeorm'
import { createApiKey, hashPassword } from 'typeorm-resources'
import { Entry, Invoice, Line, Rate } from './billing'
import { ApiKey } from './keys'
import { Company, Membership, Person } from './people'
import { Comment, Guest, Project, Tag, Task } from './projects'

export const trackerEntities = [
  ...[Company, Person, Membership, Project, Guest, Task, Tag, Comment, Entry, Invoice, Line, Rate, ApiKey],
]

/**
 * User names in the order of the ids, which are also the passwords. Ann is a manager of Acme, bob a member. Cleo is a
 * member of Acme and a manager of Beta. Dan is a member of Gamma and a guest of a project of Acme. Eve has no company. Fay
 * is a manager of Gamma.
 */
export const people = ['ann', 'bob', 'cleo', 'dan', 'eve', 'fay'] as const

const [acme, beta, gamma] = [1, 2, 3]
const [ann, bob, cleo, dan, , fay] = [1, 2, 3, 4, 5, 6]
const [atlas, apollo, saturn, gemini] = [1, 2, 3, 4]

/** Rows by entity, in the order that foreign keys require. */
const rows: readonly (readonly [EntityTarget<ObjectLiteral>, readonly ObjectLiteral[]])[] = [
  [
    Company,
    [
      { id: acme, name: 'Acme' },
      { id: beta, name: 'Beta' },
      { id: gamma, name: 'Gamma' },
    ],
  ],
  [
    Project,
    [
      { id: atlas, name: 'Atlas', company: acme, budget: 50_000 },
      { id: apollo, name: 'Apollo', company: acme, budget: 20_000 },
      { id: saturn, name: 'Saturn', company: beta, budget: 90_000 },
      { id: gemini, name: 'Gemini', company: gamma, budget: 10_000 },
    ],
  ],
  [
    Tag,
    [
      { id: 1, label: 'urgent' },
      { id: 2, label: 'red', company: acme },
      { id: 3, label: 'black', company: beta },
    ],
  ],
  [
    Membership,
    [
      { id: 1, person: ann, company: acme, role: 'manager' },
      { id: 2, person: bob, company: acme, role: 'member' },
      { id: 3, person: cleo, company: acme, role: 'member' },
      { id: 4, person: cleo, company: beta, role: 'manager' },
      { id: 5, person: dan, company: gamma, role: 'member' },
      { id: 6, person: fay, company: gamma, role: 'manager' },
    ],
  ],
  [Guest, [{ id: 1, project: atlas, person: dan }]],
  [
    Task,
    [
      { id: 1, title: 'Draw', project: atlas, assignee: bob },
      { id: 2, title: 'Build', project: apollo, assignee: cleo, state: 'doing' },
      { id: 3, title: 'Hide', project: saturn, assignee: cleo, state: 'done' },
      { id: 4, title: 'Pack', project: gemini, assignee: dan },
      { id: 5, title: 'Forget', project: atlas, assignee: ann, deleted: new Date('2026-03-01T12:00:00Z') },
    ],
  ],
  // Task 2 was moved from a project of Beta.
  [
    'task_tags_tag',
    [
      { taskId: 1, tagId: 1 },
      { taskId: 1, tagId: 2 },
      { taskId: 2, tagId: 3 },
      { taskId: 3, tagId: 3 },
    ],
  ],
  [
    Comment,
    [
      { id: 1, text: 'First sketch', task: 1, author: bob },
      { id: 2, text: 'Looks good', task: 1, author: dan },
      { id: 3, text: 'Tell nobody', task: 3, author: cleo },
      { id: 4, text: 'On it', task: 4, author: dan },
      { id: 5, text: 'Never mind', task: 5, author: bob },
    ],
  ],
  [
    Entry,
    [
      { id: 1, task: 1, person: bob, minutes: 90, day: '2026-03-02' },
      { id: 2, task: 2, person: cleo, minutes: 60, day: '2026-03-02' },
      { id: 3, task: 3, person: cleo, minutes: 240, day: '2026-03-03' },
      { id: 4, task: 5, person: bob, minutes: 30, day: '2026-03-01' },
      { id: 5, task: 4, person: dan, minutes: 45, day: '2026-03-03' },
    ],
  ],
  [
    Invoice,
    [
      { id: 1, project: atlas, number: 'A-1', status: 'sent' },
      { id: 2, project: atlas, number: 'A-2', status: 'draft' },
      { id: 3, project: saturn, number: 'B-1', status: 'draft' },
      { id: 4, project: apollo, number: 'A-3', status: 'paid' },
    ],
  ],
  [
    Line,
    [
      { id: 1, invoice: 1, text: 'Sketches', quantity: 2, price: '120.50' },
      { id: 2, invoice: 2, text: 'Drawings', quantity: 1, price: '80.00' },
      { id: 3, invoice: 3, text: 'Silence', quantity: 1, price: '900.00' },
    ],
  ],
  [
    Rate,
    [
      { id: 1, person: ann, company: acme, hourly: 120 },
      { id: 2, person: bob, company: acme, hourly: 80 },
      { id: 3, person: cleo, company: beta, hourly: 150 },
      { id: 4, person: dan, company: gamma, hourly: 70 },
    ],
  ],
]

/** Fills an empty database. @returns the API key of bob's report program, which can read projects and write entries */
export async function seedTracker(dataSource: DataSource): Promise<string> {
  const accounts = people.map(async (name, index) => ({
    id: index + 1,
    username: name,
    password: await hashPassword(name),
  }))
  await insert(dataSource, Person, await Promise.all(accounts))
  for (const [entity, values] of rows) await insert(dataSource, entity, values)
  const permissions = { project: ['read'], entry: ['read', 'create'] }
  return createApiKey(dataSource, ApiKey, { user: { id: bob }, name: 'reports', permissions })
}

async function insert(
  dataSource: DataSource,
  entity: EntityTarget<ObjectLiteral>,
  values: readonly ObjectLiteral[],
): Promise<void> {
  await dataSource
    .createQueryBuilder()
    .insert()
    .into(entity)
    .values([...values])
    .execute()
  const { tableName, generatedColumns } = dataSource.getMetadata(entity)
  // An INSERT with explicit ids does not advance the sequence of PostgreSQL.
  if (dataSource.options.type !== 'postgres' || generatedColumns.length === 0) return
  await dataSource.query(`SELECT setval(pg_get_serial_sequence('"${tableName}"', 'id'), MAX(id)) FROM "${tableName}"`)
}
