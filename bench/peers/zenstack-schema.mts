import type { SchemaDef } from '@zenstackhq/schema'

// The schemas are built by functions, in the form that ZenStack's generator writes: the generator needs Node.js 22.

export type Models = SchemaDef['models']
type Model = Models[string]
type Fields = Model['fields']

export const id: Fields = {
  id: {
    name: 'id',
    type: 'Int',
    id: true,
    default: { kind: 'call', function: 'autoincrement' } as never,
    attributes: [{ name: '@id' }],
  },
}

export const field = (name: string, type: 'String' | 'Int' | 'Boolean' | 'DateTime'): Fields => ({
  [name]: { name, type },
})

/** A field whose default the database sets. */
export const databaseDefault = (name: string, type: 'DateTime'): Fields => ({ [name]: { name, type, optional: true } })

/** A relation, such as `project`, and its foreign key. @param foreignKey default: `project_id` */
export function toOne(name: string, type: string, opposite: string, foreignKey = `${name}_id`): Fields {
  return {
    [foreignKey]: { name: foreignKey, type: 'Int', optional: true, foreignKeyFor: [name] },
    [name]: { name, type, optional: true, relation: { opposite, fields: [foreignKey], references: ['id'] } },
  }
}

export const toMany = (name: string, type: string, opposite: string): Fields => ({
  [name]: { name, type, array: true, relation: { opposite } },
})

/** A model and its table. @param key names of the fields of the key */
export function model(name: string, table: string, fields: Fields, key: readonly string[] = ['id']): Model {
  const uniqueFields =
    key.length === 1
      ? { id: { type: 'Int' } }
      : { [key.join('_')]: Object.fromEntries(key.map((part) => [part, { type: 'Int' }])) }
  const attributes = [{ name: '@@map', args: [{ name: 'name', value: { kind: 'literal', value: table } as const }] }]
  return { name, fields, attributes, idFields: key, uniqueFields }
}
