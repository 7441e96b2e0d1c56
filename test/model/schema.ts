/**
 * Description of the entities of `entities.ts` for the model. It is a second declaration, so that the model does not depend on the code
 * that it checks.
 */

/** Names of the resources. */
export type ResourceName = 'team' | 'person' | 'task' | 'tag' | 'entry'
export const resourceNames: readonly ResourceName[] = ['team', 'person', 'task', 'tag', 'entry']

/** How values are compared and ordered. `key` is the key of the resource that a foreign key refers to. */
export type ValueType =
  | 'text'
  | 'label'
  | 'integer'
  | 'decimal'
  | 'boolean'
  | 'date'
  | 'time'
  | 'instant'
  | 'enum'
  | 'uuid'
  | { readonly key: ResourceName }

/** The fields of every resource besides keys and foreign keys. */
export const valueFields: Readonly<Record<string, ValueType>> = {
  name: 'text',
  label: 'label',
  score: 'integer',
  order: 'integer',
  limit: 'integer',
  price: 'decimal',
  big: 'integer',
  ratio: 'decimal',
  flag: 'boolean',
  day: 'date',
  at: 'time',
  seen: 'instant',
  status: 'enum',
  code: 'uuid',
}
/** Fields that are never null. */
export const requiredFields: ReadonlySet<string> = new Set(['order', 'limit'])

interface Relation {
  readonly target: ResourceName
  readonly many: boolean
}
const one = (target: ResourceName): Relation => ({ target, many: false })
const many = (target: ResourceName): Relation => ({ target, many: true })

/** The relations of each resource. */
export const relations: Readonly<Record<ResourceName, Readonly<Record<string, Relation>>>> = {
  team: { lead: one('person'), members: many('person'), tasks: many('task') },
  person: { boss: one('person'), team: one('team'), tasks: many('task'), friends: many('person') },
  task: { assignee: one('person'), team: one('team'), parent: one('task'), tags: many('tag'), entries: many('entry') },
  tag: { broader: one('tag'), tasks: many('task') },
  entry: { task: one('task'), person: one('person'), tag: one('tag') },
}

/** The owning sides of to-many relations, whose values are generated; those of the inverse sides follow from them. */
export const ownedRelations: Readonly<Partial<Record<ResourceName, readonly string[]>>> = {
  person: ['friends'],
  task: ['tags'],
}

/** Paths of the texts that the parameter `search` compares: to-one relations, and a field. */
export const searchPaths: Readonly<Record<ResourceName, readonly (readonly string[])[]>> = {
  team: [['name'], ['label'], ['lead', 'label']],
  person: [['label'], ['boss', 'name'], ['team', 'label']],
  task: [['board'], ['label'], ['assignee', 'team', 'name']],
  tag: [['word'], ['broader', 'label']],
  entry: [['name'], ['task', 'label'], ['tag', 'word']],
}

/** The fields of each key, in order. */
export const keys: Readonly<Record<ResourceName, Readonly<Record<string, ValueType>>>> = {
  team: { id: 'uuid' },
  person: { id: 'integer' },
  task: { board: 'text', number: 'integer' },
  tag: { word: 'text' },
  entry: { id: 'integer' },
}

/** The type of `id`, and of foreign keys to the resource. */
export function keyType(resource: ResourceName): ValueType {
  const types = Object.values(keys[resource])
  return types.length === 1 && types[0] !== undefined ? types[0] : { key: resource }
}

/** Every field that a filter can name, by name. */
export function fieldsOf(resource: ResourceName): Readonly<Record<string, ValueType>> {
  const references = Object.entries(relations[resource]).filter(([, { many }]) => !many)
  return {
    id: keyType(resource),
    ...keys[resource],
    ...valueFields,
    ...Object.fromEntries(
      references.flatMap(([name, { target }]) => [
        [name, keyType(target)],
        [`${name}_id`, keyType(target)],
      ]),
    ),
  }
}

const ordered = ['eq', 'ne', 'lt', 'lte', 'gt', 'gte', 'in', 'is']
const equal = ['eq', 'ne', 'in', 'is']

/** The operators that the model supports. Comparisons that depend on a collation are left out. */
export function operatorsOf(type: ValueType): readonly string[] {
  if (type === 'text') return [...ordered, 'like', 'ilike']
  if (type === 'label') return [...equal, 'like', 'ilike']
  return type === 'boolean' || type === 'enum' || type === 'uuid' || typeof type === 'object' ? equal : ordered
}
