/** TypeORM with few statements: no count, no relations, `insert` and `update`. */
import { serveSite } from './typeorm-site'

serveSite({
  list: async (notes, options) => ({ data: await notes.find(options) }),
  read: (notes, id) => notes.findOneBy({ id }),
  create: async (notes, values) => {
    const note = notes.create(values)
    await notes.insert(note)
    return note
  },
  update: async (notes, id, values) => {
    await notes.update(id, values)
    return notes.findOneBy({ id })
  },
})
