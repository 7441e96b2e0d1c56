import { Column, Entity, JoinTable, ManyToMany, ManyToOne, PrimaryColumn, type Relation } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf, send } from '../client'
import { permitAll } from '../support/access'
import { isMariadb } from '../world/leg'
import { openWorld, type World } from '../world/world'

/** Filters that are combined by `or`, `and` and `not`. */

@Entity()
@Resource({ auth: permitAll })
class Person {
  @PrimaryColumn() id!: number
  @Column({ type: 'varchar', length: 20, nullable: true }) name!: string | null
}

@Entity()
@Resource({ auth: permitAll })
class Tag {
  @PrimaryColumn() id!: number
  @Column({ length: 20 }) name!: string
  @Column({ length: 20 }) color!: string
}

@Entity()
@Resource({ auth: permitAll, exclude: ['secret'] })
class Task {
  @PrimaryColumn() id!: number
  @Column({ type: 'varchar', length: 20, nullable: true }) status!: string | null
  @Column({ type: 'int', nullable: true }) score!: number | null
  @Column({ default: 0 }) or!: number
  @Column({ default: 0 }) count!: number
  @Column({ default: 'hidden' }) secret!: string
  @ManyToOne(() => Person) assignee!: Relation<Person> | null
  @ManyToMany(() => Tag) @JoinTable() tags!: Relation<Tag>[]
}

const status = ['open', 'open', 'done', null, 'a,b', '(x) "y": z']
const score = [1, null, 3, 4, null, 6]

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [Person, Tag, Task],
    seed: async (dataSource) => {
      const [ann, nobody] = await dataSource.getRepository(Person).save([
        { id: 1, name: 'ann' },
        { id: 2, name: null },
      ])
      const tags = await dataSource.getRepository(Tag).save([
        { id: 1, name: 'a', color: 'red' },
        { id: 2, name: 'a', color: 'blue' },
        { id: 3, name: 'b', color: 'red' },
      ])
      const tagged = [[1], [2, 3], [3], [], [1, 2], []]
      await dataSource.getRepository(Task).save(
        tagged.map((own, index) => ({
          id: index + 1,
          status: status[index] ?? null,
          score: score[index] ?? null,
          or: index,
          assignee: [ann, nobody, null][index % 3] ?? null,
          tags: tags.filter(({ id }) => own.includes(id)),
        })),
      )
    },
  })
})
afterAll(() => world.close())
const { get, ids } = apiOf(() => world.url)

describe('groups', () => {
  test.each<readonly [query: string, expected: readonly number[]]>([
    ['or=(status:open,status:done)', [1, 2, 3]],
    ['or=(status:open,score__gt:3)', [1, 2, 4, 6]],
    ['and=(status:open,score:1)', [1]],
    // Unlike a parameter that is given twice, which matches any of its values.
    ['and=(status:open,status:done)', []],
    ['not=(status:open)', [3, 4, 5, 6]],
    ['not=(status:open,score:1)', [2, 3, 4, 5, 6]],
    ['not=(status__is:null)', [1, 2, 3, 5, 6]],
    ['not=(not(status:open))', [1, 2]],
    ['not=(or(status:open,score__gte:4))', [3, 5]],
    ['score__gte=3&or=(status:done,assignee__name:ann)', [3, 4]],
    ['or=(status:done,and(status:open,score__is:null))', [2, 3]],
    ['or=(id:1,and(id__gt:1,or(id:2,and(id:3,status:done))))', [1, 2, 3]],
    ['or=(id:1,id:2)&or=(id:2,id:3)', [2]],
    // Quoted values, and lists.
    ['or=(status:"a,b",id:1)', [1, 5]],
    ['or=(status:"(x) ""y"": z")', [6]],
    ['or=(id__in:(1,2),status__in:("a,b","(x) ""y"": z"))', [1, 2, 5, 6]],
    ['or=(id__in:4,id__in:"5,6")', [4, 5, 6]],
    ['or=(status:)', []],
    ['not=(status__like:"%(%")', [1, 2, 3, 4, 5]],
    ['or=(assignee:1,id:2)', [1, 2, 4]],
    // Through to-one relations, which may be null.
    ['not=(assignee__name:ann)', [2, 3, 5, 6]],
    ['or=(assignee__name__is:null,id:1)', [1, 2, 3, 5, 6]],
    ['not=(assignee__name__is:null)', [1, 4]],
    // Through to-many relations: within one `and` the filters must hold for the same related record.
    ['tags__name=a&tags__color=red', [1, 5]],
    ['and=(tags__name:a,tags__color:red)', [1, 5]],
    ['and=(tags__name:a,tags__color:blue)', [2, 5]],
    ['and=(tags__name:a)&and=(tags__color:red)', [1, 2, 5]],
    ['tags__name=a&and=(tags__color:red)', [1, 2, 5]],
    ['or=(tags__name:b,tags__color:blue)', [2, 3, 5]],
    ['not=(tags__name:a)', [3, 4, 6]],
    ['not=(tags__name:a,tags__color:red)', [2, 3, 4, 6]],
    ['not=(tags__id__is:not_null)', [4, 6]],
    // Fields named `or` and `count`.
    ['or__eq=3', [4]],
    ['or=(or:3,or__gte:5)', [4, 6]],
    ['or=(count:1,id:1)', [1]],
    ['count=0&limit=1', [1]],
  ])('%s', async (query, expected) => {
    expect(await ids(`task/?${query.replaceAll('%', '%25').replaceAll(' ', '+')}`)).toEqual(expected)
  })

  test('links repeat groups', async () => {
    const { meta } = (await get('task/?or=(status:open,score__gt:3)&limit=2')).json() as { meta: { next: string } }
    expect(meta.next).toBe('/api/task/?or=(status:open,score__gt:3)&limit=2&page=2')
    const { objects } = (await send(world.url, `GET ${meta.next}`)).json() as { objects: { id: number }[] }
    expect(objects.map(({ id }) => id)).toEqual([4, 6])
  })

  test('lists with groups are paged by keyset', async () => {
    const first = (await get('task/?not=(status:open)&ordering=-score&limit=2&after=')).json() as {
      meta: { next: string }
    }
    const { objects } = (await send(world.url, `GET ${first.meta.next}`)).json() as { objects: { id: number }[] }
    // The order is the same under all collations; the last value is null.
    expect(objects.map(({ id }) => id)).toEqual([3, 5])
  })

  test('groups with the same structure share a statement, with different parameters', async () => {
    world.statements()
    await ids('task/?or=(status:open,not(score:1))')
    await ids('task/?or=(status:done,not(score:3))')
    const statements = world.statements()
    expect(statements).toHaveLength(2)
    expect(new Set(statements).size).toBe(1)
  })

  test.each([
    ['or=(status:open', 'or', 'has an unclosed "(" at character 4'],
    ['or=(status:open,and(id:1)', 'or', 'has an unclosed "(" at character 4'],
    ['or=(id:1,and(id:2', 'or', 'has an unclosed "(" at character 13'],
    ['not=(id__in:(1,2', 'not', 'has an unclosed "(" at character 13'],
    ['or=(status:"open)', 'or', 'has an unclosed quote at character 12'],
    ['or=', 'or', 'has the end where "(" is expected at character 4'],
    ['or=id:1', 'or', 'has "i" where "(" is expected at character 4'],
    ['or=()', 'or', 'has ")" where a filter such as name:value is expected at character 5'],
    ['or=(id:1,)', 'or', 'has ")" where a filter such as name:value is expected at character 10'],
    ['or=(id)', 'or', 'has ")" where ":" after id is expected at character 7'],
    ['or=(x(id:1))', 'or', 'has "(" where ":" after x is expected at character 6'],
    ['or=(id:1)x', 'or', 'has "x" where the end of the group is expected at character 10'],
    ['or=(status:"a"b)', 'or', 'has "b" where "," or ")" is expected at character 15'],
    ['or=(or(or(or(or(id:1)))))', 'or', 'nests groups more than 4 deep at character 16'],
    ['or=(status:(a,b))', 'status', 'has a list in parentheses, which only the operator "in" takes'],
    ['or=(id__in:())', 'id__in', 'has an empty member; "" stands for the empty text'],
    ['or=(id:x)', 'id', 'must be an integer'],
    ['or=(secret:hidden)', 'secret', 'is not a field of task; fields: id'],
    ['or=(nothing:1)', 'nothing', 'is not a field of task; fields: id'],
    ['not=(tags:1)', 'tags', 'leads to tag records'],
  ])('%s is 400', async (query, field, message) => {
    const reply = await get(`task/?${query}`)
    const [error] = (reply.json() as { errors: { field: string; message: string }[] }).errors
    expect([reply.status, error?.field]).toEqual([400, field])
    expect(error?.message).toContain(message)
  })
})

describe('limits of groups', () => {
  const filters = (count: number): string => Array.from({ length: count }, (_, index) => `id:${index}`).join()
  test.each([
    ['30 filters, those outside too', `id__gt=0&or=(${filters(29)})`, 200],
    ['31 filters', `id__gt=0&or=(${filters(30)})`, 400],
    ['members of all lists', `or=(${Array.from({ length: 3 }, () => `id__in:(${'1,'.repeat(340)}1)`).join()})`, 400],
    ['patterns', `or=(${Array.from({ length: 3 }, () => `status__like:${'%25a'.repeat(100)}`).join()})`, 400],
    ['four relations to many', `or=(tags__id:1,tags__id:2,and(tags__id:3,not(tags__id:4)))`, 200],
    ['five relations to many', `or=(tags__id:1,tags__id:2,tags__id:3,and(tags__id:4,not(tags__id:5)))`, 400],
  ])('%s', async (_, query, expected) => {
    expect((await get(`task/?${query}`)).status).toBe(expected)
  })

  test.each([
    ['10,000 parentheses', `or=${'('.repeat(10_000)}`],
    ['2,000 parentheses', `or=${'('.repeat(2000)}`],
    ['500 groups', `or=${'(or'.repeat(500)}`],
    ['2,000 quotes', `or=(status:${'%22'.repeat(2000)}`],
    ['2,000 commas', `or=(${','.repeat(2000)})`],
    ['1,000 members', `or=(${'a:,'.repeat(650)}a:)`],
    ['a list of 1,000 members', `or=(id__in:(${'1,'.repeat(1000)}))`],
    ['50 groups', Array.from({ length: 50 }, () => 'or=((').join('&')],
  ])('invalid syntax is 400: %s', async (_, query) => {
    expect((await get(`task/?${query}`)).status).toBe(400)
  })
})

test('a null in a subquery does not hide other records: not, and to-many relations without records', async () => {
  const all = await ids('task/')
  for (const inner of ['tags__name:a', 'assignee__name:ann', 'score__gt:3', 'status__ne:open', 'assignee__is:null']) {
    const [one, other] = [await ids(`task/?and=(${inner})`), await ids(`task/?not=(${inner})`)]
    expect([...one, ...other].toSorted()).toEqual(all)
  }
  // MariaDB's collation ignores case; the result must be the same on every database.
  expect(await ids('task/?not=(status__ilike:OPEN)')).toEqual([3, 4, 5, 6])
  expect(isMariadb || (await ids('task/?or=(status:OPEN)')).length === 0).toBe(true)
})
