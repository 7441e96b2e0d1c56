import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf } from '../client'
import { permitAllAsUser1 } from '../support/access'
import { setOnce } from '../support/mysql-session'
import { openWorld, type World } from '../world/world'

/** Texts are stored and compared as sent, whatever character set the connections begin with. */

@Entity()
@Resource({ auth: permitAllAsUser1 })
class Note {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'varchar', length: 200 }) title!: string
}

/** Deleted documents are hidden. */
@Entity()
@Resource({ auth: permitAllAsUser1, scope: () => ({ state__ne: 'gelöscht' }) })
class Doc {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'varchar', length: 200 }) state!: string
}

/** The option `charset` of the data source, and a statement such as the server's `init_connect`. */
const connections = [
  ['latin1', ''],
  ['gbk_chinese_ci', ''],
  ['utf8mb4_bin', ''],
  ['utf8mb4', 'SET NAMES latin1'],
  ['utf8mb4', 'SET NAMES gbk'],
  ['utf8mb4', 'SET NAMES utf8mb3'],
  ['utf8mb4', 'SET character_set_client = latin1'],
  ['utf8mb4', 'SET character_set_connection = latin1'],
  ['utf8mb4', 'SET character_set_results = latin1'],
  ['utf8mb4', 'SET character_set_connection = utf16'],
] as const

describe.each(connections)('charset "%s", "%s"', (charset, settings) => {
  let world: World
  beforeAll(async () => {
    world = await openWorld({
      entities: [Note, Doc],
      source: { charset, poolSize: 2 } as object,
      seed: async (dataSource) => {
        // "gelöscht" in UTF-8.
        await dataSource.query("INSERT INTO doc (state) VALUES (_utf8mb4 X'67656cc3b673636874'), ('open')")
        if (settings !== '') await setOnce(dataSource, settings)
      },
    })
  })
  afterAll(async () => {
    await world.close()
    expect(world.faults).toEqual([])
  })
  const { get, post, put, ids } = apiOf(() => world.url)

  test('a text is stored, shown and found as it was sent', async () => {
    for (const title of ['gelöscht', '日本 😀', '€']) {
      const created = await post('note', { title: 'first' })
      const { id } = created.json() as { id: number }
      expect((await put(`note/${id}`, { title })).json()).toEqual({ id, title })
      expect((await get(`note/${id}/`)).json()).toEqual({ id, title })
      for (const filter of ['title', 'title__like', 'title__ilike', 'title__in'])
        expect([title, filter, await ids(`note/?${filter}=${encodeURIComponent(title)}`)]).toEqual([
          title,
          filter,
          [id],
        ])
      expect(await ids(`note/?title__ne=${encodeURIComponent(title)}`)).not.toContain(id)
    }
  })

  test('a row scope compares the stored texts', async () => {
    expect(await ids('doc/')).toEqual([2])
    expect((await post('doc', { state: 'gelöscht' })).status).toBe(403)
    expect(await world.mounted.visible(Doc, { id: 1 }).getCount()).toBe(1)
  })
})
