/** TypeORM as in many tutorials: all relations, a count of all records, and `save`. */
import { serveSite } from './typeorm-site'

const relations = { author: true }

serveSite({
  list: async (notes, options) => {
    const [data, total] = await notes.findAndCount({ ...options, relations })
    return { data, total }
  },
  read: (notes, id) => notes.findOne({ where: { id }, relations }),
  create: (notes, values) => notes.save(notes.create(values)),
  update: async (notes, id, values) => notes.save(notes.merge(await notes.findOneByOrFail({ id }), values)),
})
