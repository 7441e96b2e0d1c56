import type { SchemaDef } from '@zenstackhq/schema'

// Written by hand, in the form that ZenStack's generator writes for a data model: the generator needs Node.js 22.

type Model = SchemaDef['models'][string]
type Fields = Model['fields']

const id: Fields = { id: { name: 'id', type: 'Int', id: true, attributes: [{ name: '@id' }] } }

const text = (name: string): Fields => ({ [name]: { name, type: 'String' } })

/** A foreign key, `project_id`, and its relation, `project`. */
function toOne(name: string, type: string, opposite: string): Fields {
  const foreignKey = `${name}_id`
  return {
    [foreignKey]: { name: foreignKey, type: 'Int', optional: true, foreignKeyFor: [name] },
    [name]: { name, type, optional: true, relation: { opposite, fields: [foreignKey], references: ['id'] } },
  }
}

const toMany = (name: string, type: string, opposite: string): Fields => ({
  [name]: { name, type, array: true, relation: { opposite } },
})

/** @param key names of the fields of the key */
function model(name: string, table: string, fields: Fields, key: readonly string[] = ['id']): Model {
  const uniqueFields =
    key.length === 1
      ? { id: { type: 'Int' } }
      : { [key.join('_')]: Object.fromEntries(key.map((part) => [part, { type: 'Int' }])) }
  const attributes = [{ name: '@@map', args: [{ name: 'name', value: { kind: 'literal', value: table } as const }] }]
  return { name, fields, attributes, idFields: key, uniqueFields }
}

export const schema: SchemaDef = {
  provider: { type: 'sqlite' },
  plugins: {},
  models: {
    Person: model('Person', 'person', {
      ...id,
      ...text('name'),
      ...toMany('tasks', 'Task', 'assignee'),
      ...toMany('comments', 'Comment', 'author'),
    }),
    Project: model('Project', 'project', { ...id, ...text('name'), ...toMany('tasks', 'Task', 'project') }),
    Tag: model('Tag', 'tag', { ...id, ...text('label'), ...toMany('tasks', 'TaskTag', 'tag') }),
    TaskTag: model('TaskTag', 'task_tag', { ...toOne('task', 'Task', 'tags'), ...toOne('tag', 'Tag', 'tasks') }, [
      'task_id',
      'tag_id',
    ]),
    Task: model('Task', 'task', {
      ...id,
      ...text('title'),
      ...text('status'),
      ...toOne('project', 'Project', 'tasks'),
      ...toOne('assignee', 'Person', 'tasks'),
      ...toMany('tags', 'TaskTag', 'task'),
      ...toMany('comments', 'Comment', 'task'),
    }),
    Comment: model('Comment', 'comment', {
      ...id,
      ...text('text'),
      ...toOne('author', 'Person', 'comments'),
      ...toOne('task', 'Task', 'comments'),
    }),
  },
}
