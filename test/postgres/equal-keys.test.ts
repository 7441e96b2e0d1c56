import {
  Column,
  Entity,
  JoinTable,
  ManyToMany,
  ManyToOne,
  OneToMany,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type Relation,
} from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf } from '../client'
import { permitAll } from '../support/access'
import { openWorld, type World } from '../world/world'

/** Keys that PostgreSQL considers equal, although their texts differ: `citext` ignores case, `char(n)` spaces at the end. */

@Entity()
@Resource({ auth: permitAll, nested: ['codes', 'words', 'tags'] })
class Sheet {
  @PrimaryGeneratedColumn() id!: number
  @OneToMany(
    () => Code,
    ({ sheet }) => sheet,
  )
  codes!: Relation<Code>[]
  @OneToMany(
    () => Word,
    ({ sheet }) => sheet,
  )
  words!: Relation<Word>[]
  @ManyToMany(() => Word) @JoinTable() tags!: Relation<Word>[]
}

@Entity()
@Resource({ auth: permitAll })
class Code {
  @PrimaryColumn({ type: 'char', length: 5 }) id!: string
  @Column({ default: 'none' }) note!: string
  @Column({ default: 0 }) count!: number
  @ManyToOne(
    () => Sheet,
    ({ codes }) => codes,
  )
  sheet!: Relation<Sheet>
}

@Entity()
@Resource({ auth: permitAll })
class Word {
  @PrimaryColumn('citext') id!: string
  @Column({ default: 'none' }) note!: string
  @Column({ default: 0 }) count!: number
  @ManyToOne(
    () => Sheet,
    ({ words }) => words,
  )
  sheet!: Relation<Sheet>
}

/** Has a key of several columns. */
@Entity()
@Resource({ auth: permitAll })
class Term {
  @PrimaryColumn('citext') word!: string
  @PrimaryColumn({ type: 'char', length: 5 }) code!: string
  @Column({ default: 0 }) count!: number
}

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Sheet, Code, Word, Term] })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})
const { get, post, put } = apiOf(() => world.url)

test.each([
  ['code', 'ab', 'ab   '],
  ['word', 'RED', 'Red'],
  // In JavaScript, the last letter of this word becomes ς in lower case, and the first one of the next word two characters.
  ['word', 'οδοσ', 'ΟΔΟΣ'],
  ['word', 'izmir', 'İzmir'],
])('a nested %s with a key equal to the stored one is updated, not replaced', async (resource, sent, stored) => {
  const list = `${resource}s`
  const sheet = (await post('sheet', { [list]: [{ id: stored, note: 'kept' }] })).json() as { id: number }
  expect((await put(`sheet/${sheet.id}`, { [list]: [{ id: sent, count: 1 }] })).status).toBe(200)
  expect((await get(`${resource}/?sheet=${sheet.id}`)).json()).toMatchObject({
    objects: [{ id: stored, note: 'kept', count: 1 }],
  })
  const path = `${resource}/${encodeURIComponent(sent)}`
  expect((await put(path, { id: sent, count: 2 })).json()).toMatchObject({ id: stored, count: 2 })
  expect((await put(path, { id: 'other' })).status).toBe(400)
})

test('a link that is given with two equal keys is stored once', async () => {
  await post('word', { id: 'Blue' })
  const { id } = (await post('sheet', { tag_ids: ['blue', 'BLUE'] })).json() as { id: number }
  expect((await put(`sheet/${id}`, { tag_ids: ['Blue'] })).status).toBe(200)
  expect((await get(`sheet/${id}/?include=tags`)).json()).toMatchObject({ tags: [{ id: 'Blue' }] })
})

test('a key of several columns is equal to the stored one if its parts are', async () => {
  await post('term', { word: 'Red, dark', code: 'ab' })
  const id = 'RED\\, DARK,ab'
  expect((await put(`term/${encodeURIComponent(id)}`, { id, count: 1 })).json()).toMatchObject({
    id: 'Red\\, dark,ab   ',
    count: 1,
  })
  expect((await put(`term/${encodeURIComponent(id)}`, { id: 'RED,ab' })).status).toBe(400)
})
