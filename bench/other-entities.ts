import { EntitySchema, type ObjectLiteral } from 'typeorm'

/** Entities that are mounted and get no requests. */
export function otherEntities(count: number): readonly EntitySchema<ObjectLiteral>[] {
  return Array.from(
    { length: count },
    (_, index) =>
      new EntitySchema<ObjectLiteral>({
        name: `other${index}`,
        columns: {
          id: { type: Number, primary: true, generated: true },
          name: { type: String },
          number: { type: Number },
          moment: { type: Date },
          isGood: { type: Boolean },
        },
        relations: { first: { type: 'many-to-one', target: 'other0' } },
      }),
  )
}
