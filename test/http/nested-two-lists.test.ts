import { Column, Entity, ManyToOne, OneToMany, PrimaryGeneratedColumn, type Relation } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf, send } from '../client'
import { permitAllAsUser1 } from '../support/access'
import { openWorld, type World } from '../world/world'

/** Related records that are in two lists of the same body (reference/requests.md, A record with its lines). */

@Entity()
@Resource({ auth: permitAllAsUser1, nested: ['sent', 'received'] })
class Person {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) name!: string
  @OneToMany(
    () => Mail,
    (mail) => mail.sender,
  )
  sent!: Relation<Mail>[]
  @OneToMany(
    () => Mail,
    (mail) => mail.receiver,
  )
  received!: Relation<Mail>[]
}

@Entity()
@Resource({ auth: permitAllAsUser1 })
class Mail {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) text!: string
  @ManyToOne(
    () => Person,
    (p) => p.sent,
  )
  sender!: Relation<Person>
  @ManyToOne(
    () => Person,
    (p) => p.received,
  )
  receiver!: Relation<Person>
}
let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Person, Mail] })
  await post('person', { name: 'ann' })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})
const { post } = apiOf(() => world.url)

/** Sends the lists of a person with one mail, which the person has sent to itself. `ID` stands for its id. */
async function putLists(
  lists: object,
): Promise<{ readonly status: number; readonly detail?: string; readonly stored: unknown }> {
  const { id } = (await post('mail', { text: 'old', sender_id: 1, receiver_id: 1 })).json() as { id: number }
  const body = JSON.parse(JSON.stringify(lists).replaceAll('"ID"', String(id)))
  const reply = await send(world.url, 'PUT /api/person/1/', { body })
  const [mail] = await world.sql(`SELECT text FROM mail WHERE id = ${id}`)
  await send(world.url, `DELETE /api/mail/${id}/`)
  const { detail } = reply.json() as { detail?: string }
  return {
    status: reply.status,
    ...(detail !== undefined && { detail: detail.replace(String(id), 'ID') }),
    stored: mail?.['text'],
  }
}

const id = 'ID'
const contradictions: readonly (readonly [object, string])[] = [
  [{ sent: [], received: [{ id }] }, 'received with the id ID: a request cannot delete the mail that it also contains'],
  [
    { sent: [{ id }], received: [] },
    'received without the id ID: a request cannot delete the mail that it also contains',
  ],
  [
    { sent: [], received: [{ id, text: 'new' }] },
    'received with the id ID: a request cannot delete the mail that it also contains',
  ],
  [
    { sent: [{ id, text: 'new' }], received: [] },
    'received without the id ID: a request cannot delete the mail that it also contains',
  ],
  [
    { sent: [{ id, text: 'new' }], received: [{ id, text: 'newer' }] },
    'received with the id ID: a request cannot change the same mail twice',
  ],
]

test.each(contradictions)(
  'a record that is in two lists stays as it is if they contradict each other: %j',
  async (lists, detail) => {
    expect(await putLists(lists)).toEqual({ status: 409, detail, stored: 'old' })
  },
)

const accepted: readonly (readonly [object, string | undefined])[] = [
  [{ sent: [], received: [] }, undefined],
  [{ sent: [{ id }], received: [{ id }] }, 'old'],
  [{ sent: [{ id, text: 'new' }], received: [{ id }] }, 'new'],
  [{ sent: [{ id }], received: [{ id, text: 'new' }] }, 'new'],
]

test.each(accepted)('a record in two lists is written once: %j', async (lists, stored) => {
  expect(await putLists(lists)).toEqual({ status: 200, stored })
})
