import type { DataSource } from 'typeorm'
import { Comment, Company, Membership, Person, Project, Rate, Tag, Task } from './entities'

/** Persons 1 and 2 are members of one company each, person 3 of both, person 4 of none. */
export async function seedTracker(dataSource: DataSource): Promise<void> {
  const save = (entity: new () => object, rows: readonly object[]): Promise<unknown> =>
    dataSource.getRepository<object>(entity).save([...rows])
  await save(Company, [
    { id: 1, name: 'Acme' },
    { id: 2, name: 'Beta' },
  ])
  await save(
    Person,
    [1, 2, 3, 4].map((id) => ({ id, name: `Person ${id}` })),
  )
  await save(Membership, [
    { id: 1, person: { id: 1 }, company: { id: 1 } },
    { id: 2, person: { id: 2 }, company: { id: 2 } },
    { id: 3, person: { id: 3 }, company: { id: 1 } },
    { id: 4, person: { id: 3 }, company: { id: 2 } },
  ])
  await save(Tag, [
    { id: 1, label: 'common', shared: true },
    { id: 2, label: 'red', company: { id: 1 } },
    { id: 3, label: 'black', company: { id: 2 } },
    { id: 4, label: 'lost' },
    // Everybody sees the tag, but not its company.
    { id: 5, label: 'world', shared: true, company: { id: 2 } },
  ])
  await save(Project, [
    { id: 1, name: 'Atlas', company: { id: 1 }, tags: [{ id: 1 }, { id: 2 }, { id: 3 }, { id: 5 }] },
    { id: 2, name: 'Apollo', company: { id: 1 }, tags: [] },
    { id: 3, name: 'Saturn', company: { id: 2 }, tags: [{ id: 1 }, { id: 3 }] },
    { id: 4, name: 'Callisto', company: { id: 1 }, tags: [{ id: 3 }] },
  ])
  await save(Task, [
    { id: 1, title: 'Draw', project: { id: 1 }, assignee: { id: 1 } },
    { id: 2, title: 'Build', project: { id: 2 }, assignee: { id: 3 } },
    { id: 3, title: 'Hide', project: { id: 3 }, assignee: { id: 2 } },
    { id: 4, title: 'Drop', project: null, assignee: { id: 1 } },
    { id: 5, title: 'Test', project: { id: 1 }, assignee: { id: 2 } },
  ])
  await save(Comment, [
    { id: 1, text: 'on a task of Acme', task: { id: 1 } },
    { id: 2, text: 'on a task of Beta', task: { id: 3 } },
    { id: 3, text: 'on no task', task: null },
  ])
  await save(Rate, [{ id: 1, hourly: 100, person: { id: 1 } }])
}
