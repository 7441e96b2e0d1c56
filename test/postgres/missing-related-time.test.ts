import {
  Column,
  type DataSource,
  Entity,
  JoinTable,
  ManyToMany,
  ManyToOne,
  PrimaryGeneratedColumn,
  type Relation,
} from 'typeorm'
import { Resource, type Rule } from 'typeorm-resources'
import { apiOf } from '../client'
import { openWorld, type World } from '../world/world'

/** Filters for missing related records evaluate the row scope of these once, and not for each link of a junction table. */

const member5: Rule = () => ({ id: 5 })

@Entity()
class Member {
  @PrimaryGeneratedColumn() id!: number
}

@Entity()
@Resource({ auth: member5, scope: (me) => ({ members__id: me.id }) })
class Project {
  @PrimaryGeneratedColumn() id!: number
  @ManyToMany(() => Member) @JoinTable() members!: Relation<Member>[]
}

@Entity()
@Resource({ auth: member5, scope: { through: 'project' } })
class Task {
  @PrimaryGeneratedColumn() id!: number
  @Column({ nullable: true, type: 'varchar' }) title!: string | null
  @ManyToOne(() => Project) project!: Relation<Project>
  @ManyToMany(
    () => Tag,
    (tag) => tag.tasks,
  )
  @JoinTable()
  tags!: Relation<Tag>[]
}

@Entity()
@Resource({ auth: member5 })
class Tag {
  @PrimaryGeneratedColumn() id!: number
  @ManyToMany(
    () => Task,
    (task) => task.tags,
  )
  tasks!: Relation<Task>[]
}

const numbers = (count: number, name: string): string => `generate_series(1, ${count}) ${name}`

async function seed(dataSource: DataSource): Promise<void> {
  await dataSource.query(`INSERT INTO member SELECT m FROM ${numbers(1000, 'm')}`)
  await dataSource.query(`INSERT INTO project SELECT p FROM ${numbers(1000, 'p')}`)
  // Each project has 20 members, and each member 20 projects.
  await dataSource.query(
    `INSERT INTO project_members_member SELECT p, 1 + (p + m * 13) % 1000 FROM ${numbers(1000, 'p')}, ${numbers(20, 'm')}`,
  )
  await dataSource.query(`INSERT INTO tag SELECT t FROM ${numbers(2000, 't')}`)
  await dataSource.query(
    `INSERT INTO task (id, title, "projectId") SELECT t, 'title', 1 + t % 1000 FROM ${numbers(50_000, 't')}`,
  )
  // Each task has 10 tags. The last 100 tags have no tasks.
  await dataSource.query(
    `INSERT INTO task_tags_tag SELECT t, 1 + (t + n * 17) % 1900 FROM ${numbers(50_000, 't')}, ${numbers(10, 'n')}`,
  )
  await dataSource.query('ANALYZE')
}

let world: World
beforeAll(async () => {
  const source = { extra: { options: '-c jit=off' } }
  world = await openWorld({ entities: [Member, Project, Task, Tag], seed, source, mount: { statementTimeout: 5000 } })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

const { get } = apiOf(() => world.url)

/** Numbers of tags, and of tasks of the member, with and without visible related records. */
test.each([
  ['tag/?tasks__title__is=null', 100],
  ['tag/?tasks__tags__id__is=null', 100],
  ['task/?tags__tasks__title__is=null', 0],
])('%s', async (path, total) => {
  const reply = await get(`${path}&limit=5&count=exact`)
  expect([reply.status, reply.json()]).toMatchObject([200, { meta: { total } }])
})
