import { Column, Entity, ManyToOne, OneToMany, PrimaryGeneratedColumn, type Relation } from 'typeorm'
import { Resource } from 'typeorm-resources'
import {
  type Client,
  createClient,
  type Excluding,
  etagOf,
  type FiltersOf,
  type IncludesOf,
  type RecordOf,
  ResourceError,
} from 'typeorm-resources/client'
import { permitAll } from '../support/access'
import { rejection } from '../support/rejection'
import { openWorld, type World } from '../world/world'

/** The option `include` of the typed client. Assignments to variables with types check that requests return their types. */

@Entity()
@Resource({ auth: permitAll, exclude: ['email'] })
class Person {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) name!: string
  @Column({ type: 'varchar', length: 20, nullable: true }) email!: string | null
}

@Entity()
@Resource({ auth: permitAll })
class Task {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) title!: string
  @ManyToOne(() => Person, { nullable: true }) assignee!: Relation<Person> | null
  @OneToMany(
    () => Comment,
    (comment) => comment.task,
  )
  comments!: Relation<Comment>[]
}

/** Some fields are called like parameters of includes. */
@Entity()
@Resource({ auth: permitAll, search: ['text'] })
class Comment {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 40 }) text!: string
  @Column({ default: 7 }) limit!: number
  @Column({ default: 'o' }) ordering!: string
  @ManyToOne(() => Person) author!: Relation<Person>
  @ManyToOne(
    () => Task,
    (task) => task.comments,
  )
  task!: Relation<Task>
}

interface Resources {
  person: Excluding<Person, 'email'>
  task: Task
  comment: Comment
}

/** Texts with all characters of the syntax of includes. */
const texts = ['plain', 'a,b', '(a)', '"', 'say "a", (b): c', 'and(text:x)', ')', ':', '', ' ', "it's 100% + é &=#"]

let world: World
let api: Client<Resources>
beforeAll(async () => {
  world = await openWorld({
    entities: [Person, Task, Comment],
    seed: async ({ manager }) => {
      const [ann, bob] = await manager.save(Person, [{ name: 'ann', email: 'ann@x' }, { name: 'b,"(o):b)' }])
      const [task] = await manager.save(Task, [{ title: 'first', assignee: ann ?? null }, { title: 'second' }])
      const author = (index: number): Person | undefined => (index % 2 === 0 ? ann : bob)
      const comments = texts.map((text, index) => ({ text, limit: index, author: author(index), task }))
      await manager.save(Comment, comments as object[])
    },
  })
  api = createClient<Resources>(`${world.url}/api`)
})
afterAll(() => world.close())

type Person_ = RecordOf<Person, Resources>
const ann: Person_ = { id: 1, name: 'ann' } as Person_

test('a list has the included records, and the type of its records has them too', async () => {
  const { objects } = await api.task.list({ title__like: '%' }, { include: { assignee: true, comments: { limit: 2 } } })
  const [first, second] = objects
  const assignees: readonly (Person_ | null | undefined)[] = [first?.assignee, second?.assignee]
  expect(assignees).toEqual([ann, null])
  const comments: readonly RecordOf<Comment, Resources>[] | undefined = first?.comments
  expect(comments?.map(({ text, author_id }) => [text, author_id])).toEqual([
    ['plain', 1],
    ['a,b', 2],
  ])
  const next: readonly (string | null | undefined)[] = [first?.comments_next, second?.comments_next]
  expect(next).toEqual(['/api/comment/?task_id=1&limit=2&page=2', ''])
  expect(first).not.toHaveProperty('comments_total')
})

test('an item has the parameters of its includes, in all levels', async () => {
  const record = await api.task.get(1, {
    fields: ['title'],
    include: {
      comments: {
        where: { author__name: 'ann', id__lte: 9 },
        ordering: ['-limit', 'id'],
        limit: 2,
        count: 'exact',
        fields: ['id', 'text'],
        include: { author: { fields: ['name'] }, task: { include: { assignee: {} } } },
      },
    },
  })
  const task = { id: 1, title: 'first', assignee_id: 1, assignee: ann }
  const expected: Omit<typeof record, 'comments_next'> = {
    id: 1,
    title: 'first',
    comments: [
      { id: 9, text: '', author: ann, task },
      { id: 7, text: ')', author: ann, task },
    ],
    comments_total: 5,
  }
  expect(record).toEqual({ ...expected, comments_next: expect.stringContaining('&page=2') })
})

const textsOf = async (options: NonNullable<IncludesOf<Task, Resources>['comments']>): Promise<readonly string[]> =>
  (await api.task.get(1, { include: { comments: options as { fields: ['text']; limit: 100 } } })).comments.map(
    ({ text }) => text,
  )

test.each(texts)('values with syntax are quoted: %p', async (text) => {
  expect(await textsOf({ where: { text } })).toEqual([text])
  expect(await textsOf({ where: { text__in: [text, 'missing'] } })).toEqual([text])
  expect(await textsOf({ where: { or: [{ text }, { text: 'plain', not: { text__in: [text] } }] } })).toEqual(
    text === 'plain' ? [text] : ['plain', text],
  )
})

const wheres: readonly (readonly [where: FiltersOf<Comment, Resources>, ids: readonly number[]])[] = [
  [{ limit: 3 }, [4]],
  [{ limit__gte: 9, ordering: 'o' }, [10, 11]],
  [{ or: [{ limit: 3 }, { limit: 4, ordering: 'o' }] }, [4, 5]],
  [{ author__name: 'b,"(o):b)', limit__lt: 4, text: undefined }, [2, 4]],
  [{ author: 2, id__in: [1, 2] }, [2]],
  [{ id__in: [2, 3], and: [{ not: { id: 2 } }] }, [3]],
]
test.each(wheres)('where %j', async (where, ids) => {
  const { comments } = await api.task.get(1, { include: { comments: { where } } })
  expect(comments.map(({ id }) => id)).toEqual(ids)
})

test('search has the words of a search', async () => {
  expect(await textsOf({ search: 'say (b):' })).toEqual(['say "a", (b): c'])
  expect(await textsOf({ search: '"a",' })).toEqual(['say "a", (b): c'])
})

test('all includes the records on each page', async () => {
  const names: (string | undefined)[] = []
  for await (const { assignee, title } of api.task.all({}, { limit: 1, after: '', include: { assignee: true } }))
    names.push(title, assignee?.name)
  expect(names).toEqual(['first', 'ann', 'second', undefined])
})

test('the responses to writes include records, and have the ETag of the record', async () => {
  const made = await api.task.create({ title: 'new', assignee_id: 1 }, { include: { assignee: true, comments: true } })
  const { assignee, comments, ...plain } = made
  expect([assignee, comments, plain.comments_next]).toEqual([ann, [], ''])
  const options = { ifMatch: etagOf(made), include: { assignee: { fields: ['name'] } } } as const
  const changed = await api.task.update(made.id, { assignee_id: 2 }, options)
  const changedAssignee: { readonly id: number; readonly name: string } | null = changed.assignee
  expect(changedAssignee).toEqual({ id: 2, name: 'b,"(o):b)' })
  await api.task.delete(made.id, { ifMatch: etagOf(changed) })
})

test('no includes and undefined ones are left out; unknown ones are refused', async () => {
  const include = { assignee: undefined, comments: { limit: undefined } } as unknown as { comments: true }
  expect(Object.keys(await api.task.get(2, { include: {} })).toSorted()).toEqual(['assignee_id', 'id', 'title'])
  expect((await api.task.get(2, { include })).comments).toEqual([])
  // @ts-expect-error: not a relation
  const { status, errors } = await rejection(api.task.get(1, { include: { nothing: true } }), ResourceError)
  expect([status, errors.map(({ field }) => field)]).toEqual([400, ['include']])
})
