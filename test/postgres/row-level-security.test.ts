import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  Column,
  DataSource,
  type DataSourceOptions,
  Entity,
  ManyToOne,
  PrimaryGeneratedColumn,
  type QueryRunner,
  type Relation,
} from 'typeorm'
import { mountResources, type Principal, Resource, UserAccount, userRule } from 'typeorm-resources'
import { send } from '../client'
import { unhashed } from '../support/unhashed'
import { openWorld } from '../world/world'

/** The SQL of docs/how-to/row-level-security.md, with the entities of that page. */

interface Colleague extends Principal {
  readonly company: number
}

@Entity()
@UserAccount({ ...unhashed, principal: ['company'] })
class Person {
  @PrimaryGeneratedColumn() id!: number
  @Column({ unique: true }) username!: string
  @Column() password!: string
  @ManyToOne(() => Company, { nullable: false }) company!: Relation<Company>
}

@Entity()
class Company {
  @PrimaryGeneratedColumn() id!: number
}

@Entity()
@Resource({ auth: userRule() })
class Note {
  @PrimaryGeneratedColumn() id!: number
  @Column() text!: string
  @ManyToOne(() => Company, { nullable: false }) company!: Relation<Company>
}

const page = readFileSync(join(__dirname, '../../docs/how-to/row-level-security.md'), 'utf8')
const [, sql = ''] = /^```sql\n(.*?)^```/ms.exec(page) ?? []

test('the policies of the page apply to the requests of each user, and to queries of the application', async () => {
  let restricted: DataSource | undefined
  let visibleTo: ((company: number) => Promise<Note[]>) | undefined
  const world = await openWorld({
    entities: [Person, Company, Note],
    seed: async (owner) => {
      await owner.manager.insert(Company, [{ id: 1 }, { id: 2 }])
      await owner.manager.insert(Person, [
        { username: 'ann', password: 'ann', company: { id: 1 } },
        { username: 'bob', password: 'bob', company: { id: 2 } },
      ])
      await owner.manager.insert(Note, [
        { text: 'of Ann', company: { id: 1 } },
        { text: 'of Bob', company: { id: 2 } },
      ])
      const [{ schema }] = await owner.query('SELECT current_schema() AS schema')
      const statements = sql.replace(/^CREATE ROLE.*$/m, '').replaceAll('notes_service', 'pg_monitor')
      await owner.query(statements.replaceAll('SCHEMA public', `SCHEMA ${schema}`))
      const { extra, ...options } = owner.options as { extra: { options: string } } & DataSourceOptions
      const limited = { ...options, extra: { options: `${extra.options} -c role=pg_monitor` }, synchronize: false }
      restricted = await new DataSource(limited as DataSourceOptions).initialize()
    },
    mountOn: (app) => {
      const dataSource = restricted as DataSource
      const mounted = mountResources(app, dataSource, {
        databaseSettings: (me) => ({ 'app.company': (me as Colleague).company, 'app.user_id': String(me.id) }),
      })
      visibleTo = (company) =>
        dataSource.transaction(async (manager) => {
          await manager.query(`SELECT set_config('app.company', $1, true)`, [String(company)])
          return mounted
            .visible(Note, { id: null })
            .setQueryRunner(manager.queryRunner as QueryRunner)
            .getMany()
        })
      return mounted
    },
  })
  const texts = async (as: string): Promise<readonly string[]> => {
    const reply = await send(world.url, 'GET /api/note/?ordering=id', { as })
    return (reply.json() as { objects: { text: string }[] }).objects.map(({ text }) => text)
  }
  const post = (as: string, company: number) =>
    send(world.url, 'POST /api/note/', { as, body: { text: `by ${as}`, company_id: company } })
  expect([await texts('ann'), await texts('bob')]).toEqual([['of Ann'], ['of Bob']])
  expect([(await post('ann', 1)).status, (await post('ann', 2)).status]).toEqual([201, 403])
  expect([await texts('ann'), await texts('bob')]).toEqual([['of Ann', 'by ann'], ['of Bob']])
  expect((await visibleTo?.(2))?.map(({ text }) => text)).toEqual(['of Bob'])
  await restricted?.destroy()
  await world.close()
})
