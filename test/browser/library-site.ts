import { Column, type DataSource, Entity, ManyToOne, PrimaryGeneratedColumn } from 'typeorm'
import { adminRule, Resource, userRule } from 'typeorm-resources'
import { entities } from '../../sample/entities'
import { permitAll } from '../support/access'
import { seedSample } from '../world/sample'
import { openWorld, type World } from '../world/world'

@Entity()
@Resource({ auth: permitAll, search: ['name', 'country'] })
export class Writer {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 60 }) name!: string
  @Column({ length: 40 }) country!: string
  @Column('int') born!: number
}

/** Has no search, but a text that filters can search. It has none of the usual names of labels. */
@Entity()
@Resource({ auth: permitAll })
export class Genre {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 40 }) meaning!: string
}

/** Only administrators may read it. */
@Entity()
@Resource({ auth: adminRule() })
export class Shelf {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 40 }) name!: string
}

@Entity()
@Resource({ auth: permitAll, aggregate: true, formats: true })
export class Book {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 80 }) title!: string
  @Column('int') pages!: number
  @Column({ type: 'decimal', precision: 10, scale: 2 }) price!: string
  @Column('date') bought!: string
  @ManyToOne(() => Writer, { nullable: false }) writer!: Writer
  @ManyToOne(() => Genre) genre!: Genre | null
  @ManyToOne(() => Shelf) shelf!: Shelf | null
}

/** Only users may read it, as JSON and CSV. */
@Entity()
@Resource({ auth: userRule(), formats: ['csv'] })
export class Loan {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 40 }) borrower!: string
  @ManyToOne(() => Book, { nullable: false }) book!: Book
}

/** Number of writers. Their names end in a number of two digits. */
export const writerCount = 30

const writers = Array.from({ length: writerCount }, (_, index) => {
  const number = String(index).padStart(2, '0')
  return { name: `Writer ${number}`, country: index % 2 ? 'Chile' : 'Peru', born: 1900 + index }
})

/** The book `n` belongs to writer `n % 3 + 1`, and has `100 + n` pages. */
const books = Array.from({ length: 40 }, (_, index) => ({
  title: `Book ${String(index).padStart(2, '0')}`,
  pages: 100 + index,
  price: `${index}.50`,
  bought: `202${index % 4}-0${1 + (index % 9)}-15`,
  writer: { id: (index % 3) + 1 },
  genre: index % 2 ? { id: 1 } : null,
  shelf: { id: 1 },
}))

/** Opens a site with books, their writers and genres, and shelves that only administrators may read. */
export function openLibrarySite(): Promise<World> {
  return openWorld({
    entities: [...entities, Writer, Genre, Shelf, Book, Loan],
    mount: { info: { title: 'Library' } },
    seed: async (dataSource: DataSource) => {
      await seedSample(dataSource)
      await dataSource.getRepository(Writer).insert(writers)
      await dataSource.getRepository(Genre).insert([{ meaning: '100% true' }, { meaning: 'Verse' }])
      await dataSource.getRepository(Shelf).insert({ name: 'Top shelf' })
      await dataSource.getRepository(Book).insert(books)
      await dataSource
        .getRepository(Loan)
        .insert([0, 1].map((index) => ({ borrower: `=Reader ${index}`, book: { id: 1 } })))
    },
  })
}
