/**
 * The pages as endpoints of Fastify with remult's `find({ include })`. The REST interface of remult has no related records: a client
 * would send further requests for them.
 */
import fastify from 'fastify'
import { Entity, Fields, Relations, repo } from 'remult'
import { remultApi } from 'remult/remult-fastify'
import { serve } from '../../serve.js'
import { openRemultDatabase } from '../remult-database.mjs'

@Entity('person')
class Person {
  @Fields.autoIncrement() id = 0
  @Fields.string() name = ''
}

@Entity('project')
class Project {
  @Fields.autoIncrement() id = 0
  @Fields.string() name = ''
}

@Entity('tag')
class Tag {
  @Fields.autoIncrement() id = 0
  @Fields.string() label = ''
}

@Entity<TaskTag>('task_tag', { id: { taskId: true, tagId: true } })
class TaskTag {
  @Fields.integer({ dbName: 'task_id' }) taskId = 0
  @Fields.integer({ dbName: 'tag_id' }) tagId = 0
  @Relations.toOne<TaskTag, Tag>(() => Tag, 'tagId') tag?: Tag
}

@Entity('comment')
class Comment {
  @Fields.autoIncrement() id = 0
  @Fields.string() text = ''
  @Fields.integer({ dbName: 'author_id' }) authorId = 0
  @Relations.toOne<Comment, Person>(() => Person, 'authorId') author?: Person
  @Fields.integer({ dbName: 'task_id' }) taskId = 0
}

@Entity('task')
class Task {
  @Fields.autoIncrement() id = 0
  @Fields.string() title = ''
  @Fields.string() status = ''
  @Fields.integer({ dbName: 'project_id' }) projectId = 0
  @Relations.toOne<Task, Project>(() => Project, 'projectId') project?: Project
  @Fields.integer({ dbName: 'assignee_id' }) assigneeId = 0
  @Relations.toOne<Task, Person>(() => Person, 'assigneeId') assignee?: Person
  @Relations.toMany<Task, TaskTag>(() => TaskTag, 'taskId') tags?: TaskTag[]
  @Relations.toMany<Task, Comment>(() => Comment, 'taskId') comments?: Comment[]
}

serve(async () => {
  const app = fastify()
  const api = remultApi({
    entities: [Person, Project, Tag, TaskTag, Comment, Task],
    dataProvider: await openRemultDatabase(),
    ensureSchema: false,
    logApiEndPoints: false,
  })
  await app.register(api)
  app.get<{ Params: { project: string } }>('/board/:project', (request) =>
    api.withRemult(request, async () => {
      const tasks = await repo(Task).find({
        where: { projectId: Number(request.params.project) },
        orderBy: { id: 'asc' },
        limit: 20,
        include: { project: true, assignee: true, tags: { include: { tag: true } } },
      })
      const counts = await repo(Comment).groupBy({ group: ['taskId'], where: { taskId: tasks.map(({ id }) => id) } })
      const countOf = new Map(counts.map(({ taskId, $count }) => [taskId, $count]))
      return repo(Task)
        .toJson(tasks)
        .map((task) => ({ ...task, comments_total: countOf.get(task.id) ?? 0 }))
    }),
  )
  app.get<{ Params: { id: string } }>('/task/:id', (request) =>
    api.withRemult(request, async () => {
      const task = await repo(Task).findFirst(
        { id: Number(request.params.id) },
        { include: { assignee: true, comments: { include: { author: true } } } },
      )
      return task && repo(Task).toJson(task)
    }),
  )
  await app.listen({ port: 0, host: '127.0.0.1' })
  return app.server
})
