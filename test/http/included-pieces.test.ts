import { AfterLoad, Column, Entity, ManyToOne, OneToMany, PrimaryGeneratedColumn, type Relation } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { send } from '../client'
import { permitAll } from '../support/access'
import { longText } from '../support/texts'
import { worldPerTest } from '../support/world-per-test'

/** Pages of records with load listeners and long hidden columns, which are read in pieces. */

@Entity()
@Resource({ auth: permitAll, exclude: ['secret'] })
class Shelf {
  @PrimaryGeneratedColumn() id!: number
  @Column() name!: string
  @Column(longText) secret!: string
  @OneToMany('Book', 'shelf') books!: Relation<Book>[]
  @AfterLoad() load(): void {
    this.name += '!'
  }
}

@Entity()
@Resource({ auth: permitAll })
class Book {
  @PrimaryGeneratedColumn() id!: number
  @Column(longText) text!: string
  @ManyToOne(() => Shelf, 'books', { nullable: false }) shelf!: Relation<Shelf>
}

const openForTest = worldPerTest()

test.each([
  [{ included: 10 }, 400],
  [{ pageBytes: 100_000 }, 400],
  [{ pageBytes: 300_000 }, 200],
])('the sizes of hidden columns do not decide whether included lists exceed %j', async (limits, status) => {
  for (const size of [10, 60_000]) {
    const world = await openForTest({ entities: [Shelf, Book], mount: { limits } })
    for (let id = 1; id <= 6; id++) {
      await world.dataSource.getRepository(Shelf).insert({ name: 's', secret: 'x'.repeat(size) })
      const books = Array.from({ length: 8 }, () => ({ text: 'y'.repeat(5000), shelf: { id } }))
      await world.dataSource.getRepository(Book).insert(books)
    }
    const reply = await send(world.url, 'GET /api/shelf/?include=books(limit:8)')
    expect([size, reply.status]).toEqual([size, status])
  }
})
