import { Column, CreateDateColumn, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf } from '../client'
import { permitAll } from '../support/access'
import { openWorld, type World } from '../world/world'

/** TypeORM's option `dateStrings`, with which mysql2 returns date-times as texts in the time zone of the option `timezone`. */

@Entity()
@Resource({ auth: permitAll })
class Visit {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'timestamp', precision: 3 }) seen!: Date
  @Column({ type: 'datetime', precision: 3 }) noted!: Date
  @CreateDateColumn() created!: Date
}

describe.each(['Z', '+05:00', 'local'])('with the time zone %s', (timezone) => {
  let world: World
  const { get, post, put, ids } = apiOf(() => world.url)
  beforeAll(async () => {
    world = await openWorld({ entities: [Visit], source: { dateStrings: true, timezone } as object })
  })
  afterAll(() => world.close())

  test('date-times are shown as they were sent, in UTC and without the fraction', async () => {
    const times = { seen: '2024-10-27 00:30:00', noted: '2024-05-06 07:08:09' }
    const posted = await post('visit', { seen: '2024-10-27T00:30:00.456Z', noted: '2024-05-06T07:08:09.123Z' })
    expect([posted.status, posted.json()]).toEqual([201, expect.objectContaining(times)])
    const record = (await get('visit/1')).json() as object
    expect(record).toMatchObject({ ...times, created: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/) })
    expect((await put('visit/1', record)).json()).toEqual(record)
    expect(await ids('visit?seen=2024-10-27 00:30:00&noted=2024-05-06 07:08:09'.replaceAll(' ', '%20'))).toEqual([1])
    expect(await ids('visit?seen__gt=2024-10-27T00:30:00.455Z&noted__lt=2024-05-06T07:08:09.124Z')).toEqual([1])
  })
})
