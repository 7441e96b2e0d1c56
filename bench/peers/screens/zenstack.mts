/** The pages with ZenStack. */
import { serveZenStack } from '../serve-zenstack.mjs'
import { field, id, model, toMany, toOne } from '../zenstack-schema.mjs'

serveZenStack({
  Person: model('Person', 'person', {
    ...id,
    ...field('name', 'String'),
    ...toMany('tasks', 'Task', 'assignee'),
    ...toMany('comments', 'Comment', 'author'),
  }),
  Project: model('Project', 'project', { ...id, ...field('name', 'String'), ...toMany('tasks', 'Task', 'project') }),
  Tag: model('Tag', 'tag', { ...id, ...field('label', 'String'), ...toMany('tasks', 'TaskTag', 'tag') }),
  TaskTag: model('TaskTag', 'task_tag', { ...toOne('task', 'Task', 'tags'), ...toOne('tag', 'Tag', 'tasks') }, [
    'task_id',
    'tag_id',
  ]),
  Task: model('Task', 'task', {
    ...id,
    ...field('title', 'String'),
    ...field('status', 'String'),
    ...toOne('project', 'Project', 'tasks'),
    ...toOne('assignee', 'Person', 'tasks'),
    ...toMany('tags', 'TaskTag', 'task'),
    ...toMany('comments', 'Comment', 'task'),
  }),
  Comment: model('Comment', 'comment', {
    ...id,
    ...field('text', 'String'),
    ...toOne('author', 'Person', 'comments'),
    ...toOne('task', 'Task', 'comments'),
  }),
})
