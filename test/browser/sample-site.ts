import { Column, type DataSource, Entity, ManyToOne, PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm'
import { Resource, userRule } from 'typeorm-resources'
import { City, Country, entities } from '../../sample/entities'
import { permitAll } from '../support/access'
import { seedSample } from '../world/sample'
import { openWorld, type World, type WorldOptions } from '../world/world'

/** Has more fields than fit the width of a window. */
@Entity()
@Resource({ auth: permitAll })
class Wide {
  @PrimaryGeneratedColumn() id!: number
}
for (let index = 0; index < 100; index++) {
  Column({ type: 'varchar', length: 20, default: `value ${index}` })(Wide.prototype, `field${index}`)
}

/** Has a text of more lines than fit the height of a window. */
@Entity()
@Resource({ auth: permitAll })
class Tale {
  @PrimaryGeneratedColumn() id!: number
  @Column('text') text!: string
}

/** Read with keyset paging and changed with If-Match; its keys contain unusual characters. */
@Entity()
@Resource({ auth: userRule({ read: 'public' }), requireIfMatch: true, paging: 'keyset' })
class Mark {
  @PrimaryColumn({ type: 'varchar', length: 40 }) key!: string
  @Column('varchar') name!: string
  @Column('simple-json') extra!: unknown
  @ManyToOne(() => Mark) other!: Mark | null
}

const keys = ['+', '50%', 'a/b', ...Array.from({ length: 60 }, (_, index) => `key-${'x'.repeat(30)}-${index}`)]

/** A text that exceeds the height of a window. */
export const longText = 'A word and then another. '.repeat(400)

const countries: readonly (readonly [number, string, string, string])[] = [
  [3, 'JPN', 'Japan', 'Asia'],
  [4, 'DEU', 'Germany', 'Europe'],
  [5, 'ITA', 'Italy', 'Europe'],
  [6, 'FRA', 'France', 'Europe'],
]

/** Name, population and country. The first five are the largest of Europe. */
const cities: readonly (readonly [string, number, number])[] = [
  ['Berlin', 3_426_354, 4],
  ['Madrid', 3_255_944, 1],
  ['Rome', 2_318_895, 5],
  ['Paris', 2_138_551, 6],
  ['Hamburg', 1_739_117, 4],
  ['Tokyo', 8_336_599, 3],
  ...Array.from({ length: 24 }, (_, index): [string, number, number] => [`Village ${index}`, 100 + index, 2]),
]

/** Opens a site with the resources of the sample, two resources that exceed the size of a window, and one with unusual keys. */
export function openSampleSite({ mount = {}, ...others }: Pick<WorldOptions, 'mount' | 'before'> = {}): Promise<World> {
  return openWorld({
    ...others,
    entities: [...entities, Wide, Tale, Mark],
    mount: { info: { title: 'Places' }, ...mount },
    seed: async (dataSource: DataSource) => {
      await seedSample(dataSource)
      const rest = { subregion: 'Somewhere', area: 1000, landlocked: false, capital: null }
      await dataSource
        .getRepository(Country)
        .insert(countries.map(([id, code, name, region]) => ({ id, code, name, region, ...rest })))
      await dataSource.getRepository(City).insert(
        cities.map(([name, population, country], index) => {
          return { id: 2 + index, name, population, latitude: 1, longitude: 2, country: { id: country } }
        }),
      )
      await dataSource.getRepository(Wide).insert({})
      await dataSource.getRepository(Tale).insert({ text: longText })
      await dataSource
        .getRepository(Mark)
        .insert(keys.map((key) => ({ key, name: `Mark ${key}`, extra: '7', other: { key } })))
    },
  })
}
