import Koa from 'koa'
import { Entity, JoinTable, ManyToMany, PrimaryColumn, type Relation } from 'typeorm'
import { ConfigError, mountResources, Resource, type Rule } from 'typeorm-resources'
import { type Reply, send } from '../client'
import { openWorld, type World } from '../world/world'

/** Both sides of a many-to-many relation write the same links. */

const byHeader: Rule = ({ context }) => ({ id: Number(context.get('X-Me') || 1) })
const isBoss = (me: object): boolean => 'id' in me && me.id === 2

@Entity()
@Resource({ auth: byHeader, nested: ['tags', 'topics'], fields: { tags: { write: isBoss } } })
class Word {
  @PrimaryColumn('int') id!: number
  @ManyToMany(
    () => Tag,
    ({ words }) => words,
  )
  @JoinTable()
  tags!: Relation<Tag>[]
  @ManyToMany(
    () => Topic,
    ({ words }) => words,
  )
  topics!: Relation<Topic>[]
}

@Entity()
@Resource({ auth: byHeader, nested: ['words'] })
class Tag {
  @PrimaryColumn('int') id!: number
  @ManyToMany(
    () => Word,
    ({ tags }) => tags,
  )
  words!: Relation<Word>[]
}

@Entity()
@Resource({ auth: byHeader, nested: ['words'], fields: { words: { write: isBoss } } })
class Topic {
  @PrimaryColumn('int') id!: number
  @ManyToMany(
    () => Word,
    ({ topics }) => topics,
  )
  @JoinTable()
  words!: Relation<Word>[]
}

@Entity()
class Actor {
  @PrimaryColumn('int') id!: number
  @ManyToMany(
    () => Film,
    ({ actors }) => actors,
  )
  @JoinTable()
  films!: Relation<Film>[]
}

@Entity()
class Film {
  @PrimaryColumn('int') id!: number
  @ManyToMany(
    () => Actor,
    ({ films }) => films,
  )
  actors!: Relation<Actor>[]
}

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Word, Tag, Topic, Actor, Film] })
  for (const entity of [Word, Tag, Topic]) await world.dataSource.getRepository<object>(entity).insert({ id: 1 })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

const sendAs = (me: number, line: string, body: unknown): Promise<Reply> =>
  send(world.url, line, { body, headers: { 'X-Me': `${me}` } })

test.each([
  ['word', 'tag_ids', 'word_tags_tag'],
  ['tag', 'word_ids', 'word_tags_tag'],
  ['word', 'topic_ids', 'topic_words_word'],
  ['topic', 'word_ids', 'topic_words_word'],
])('a principal writes links only with the permissions of both sides: %s %s', async (resource, member, table) => {
  const links = (): Promise<readonly object[]> => world.sql(`SELECT * FROM "${table}"`)
  await world.sql(`DELETE FROM "${table}"`)
  expect((await sendAs(1, `PATCH /api/${resource}/1/`, { [member]: [1] })).status).toBe(400)
  expect((await sendAs(1, `POST /api/${resource}/`, { id: 9, [member]: [1] })).status).toBe(400)
  expect(await links()).toEqual([])
  expect((await sendAs(2, `PATCH /api/${resource}/1/`, { [member]: [1] })).status).toBe(200)
  expect(await links()).toHaveLength(1)
})

test('a relation is not in nested if its other side is read-only', () => {
  const resources = [
    { entity: Actor, auth: byHeader, readOnly: ['films'] },
    { entity: Film, auth: byHeader, nested: ['actors'] },
  ]
  const mount = (): object => mountResources(new Koa(), world.dataSource, { resources })
  const mistake =
    'Film: "nested" names "actors", which leads to actor, where the other side of the relation, "films", is in "readOnly"; ' +
    'remove the other side from "readOnly", or this side from "nested"'
  expect(mount).toThrow(new ConfigError([mistake]))
})
