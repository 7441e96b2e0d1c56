import {
  BeforeInsert,
  BeforeUpdate,
  Column,
  Entity,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  Tree,
  TreeChildren,
  TreeParent,
} from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf } from '../client'
import { permitAll } from '../support/access'
import { setOnce } from '../support/mysql-session'
import { openWorld, type World } from '../world/world'

/** Without strict mode the server truncates values that do not fit, and replaces characters that a column cannot store. */

abstract class Values {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'text', nullable: true }) body!: string | null
  @Column({ type: 'simple-json', nullable: true }) json!: unknown
  @Column({ type: 'varchar', length: 20, charset: 'latin1', nullable: true }) latin!: string | null
}

@Entity()
@Resource({ auth: permitAll })
class Plain extends Values {}

@Entity()
@Resource({ auth: permitAll })
class Observed extends Values {
  @BeforeInsert()
  @BeforeUpdate()
  change(): void {}
}

/** The path of a node has the keys of all of its ancestors, and at most 255 characters. */
@Entity()
@Tree('materialized-path')
@Resource({ auth: permitAll })
class Folder {
  @PrimaryColumn({ type: 'varchar', length: 100 }) name!: string
  @TreeParent() parent!: Folder | null
  @TreeChildren() children!: Folder[]
}

/** With the first mode, MariaDB would not generate keys. With the last one, an empty text in a statement is null. */
const unsuitable = ['NO_AUTO_VALUE_ON_ZERO', 'EMPTY_STRING_IS_NULL']
const withUnsuitable = `${unsuitable[0]},ANSI_QUOTES,${unsuitable[1]}`

const tooLong = [
  ['body', 'x'.repeat(100_003)],
  ['json', ['x'.repeat(100_003)]],
  ['latin', 'a 😀'],
] as const

describe.each(['', 'ANSI', 'ORACLE', 'NO_BACKSLASH_ESCAPES', 'PAD_CHAR_TO_FULL_LENGTH', 'TRADITIONAL', withUnsuitable])(
  'sql_mode "%s"',
  (mode) => {
    let world: World
    beforeAll(async () => {
      world = await openWorld({
        entities: [Plain, Observed, Folder],
        seed: (dataSource) => setOnce(dataSource, `SET sql_mode = '${mode}'`),
        source: { poolSize: 1 },
      })
    })
    afterAll(async () => {
      await world.close()
      expect(world.faults).toEqual([])
    })
    const { get, ids, post, put } = apiOf(() => world.url)

    test.each(['plain', 'observed'])('a %s is stored completely, or the write is 400', async (resource) => {
      const stored = { body: 'x'.repeat(65_535), json: ['é😀'], latin: 'é' }
      const created = await post(resource, stored)
      expect([created.status, created.json()]).toEqual([201, { id: 1, ...stored }])
      for (const [field, value] of tooLong) {
        expect([field, (await post(resource, { [field]: value })).status]).toEqual([field, 400])
        expect([field, (await put(`${resource}/1`, { [field]: value })).status]).toEqual([field, 400])
      }
      expect((await get(`${resource}/`)).json()).toMatchObject({ objects: [{ id: 1, ...stored }] })
    })

    test.each(['plain', 'observed'])('an empty text of a %s is stored and found', async (resource) => {
      const created = await post(resource, { body: '', latin: '' })
      expect([created.status, created.json()]).toMatchObject([201, { body: '', latin: '' }])
      const { id } = created.json() as { id: number }
      expect(await ids(`${resource}?latin=`)).toEqual([id])
      expect(await ids(`${resource}?latin__is=null`)).not.toContain(id)
      expect((await put(`${resource}/${id}`, { body: 'a', latin: '' })).json()).toMatchObject({ body: 'a', latin: '' })
    })

    test('a node whose path is too long is 400', async () => {
      const names = ['a', 'b', 'c'].map((letter) => letter.repeat(100))
      for (const [index, name] of names.entries()) {
        const { status } = await post('folder', { name, ...(index > 0 && { parent_id: names[index - 1] }) })
        expect([name, status]).toEqual([name, index < 2 ? 201 : 400])
      }
      expect((await get(`folder/${names[2]}/`)).status).toBe(404)
    })

    test('the other modes stay', async () => {
      const [row] = await world.sql('SELECT @@sql_mode AS mode')
      const kept = mode.split(',').filter((name) => !unsuitable.includes(name))
      for (const name of [...kept, 'STRICT_TRANS_TABLES']) expect(row?.['mode']).toContain(name)
    })
  },
)
