import { EventEmitter, once } from 'node:events'
import type { Socket } from 'node:net'
import { Column, Entity, ManyToOne, OneToMany, PrimaryGeneratedColumn, type Relation } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { send } from '../client'
import { permitAll } from '../support/access'
import { insertRows } from '../support/insert-rows'
import { openPaused } from '../support/paused-client'
import { longText, MiB, Story } from '../support/texts'
import { openWorld, type World } from '../world/world'

/** The memory of related records is counted as soon as they are read: other requests may run before they are rendered. */

@Entity()
@Resource({ auth: permitAll })
class Album {
  @PrimaryGeneratedColumn() id!: number
  @Column(longText) cover!: string
  @OneToMany(
    () => Track,
    (track) => track.album,
  )
  tracks!: Relation<Track[]>
}

@Entity()
@Resource({ auth: permitAll })
class Track {
  @PrimaryGeneratedColumn() id!: number
  @Column('int') position!: number
  @ManyToOne(
    () => Album,
    (album) => album.tracks,
    { nullable: false },
  )
  album!: Relation<Album>
  @OneToMany(
    () => Verse,
    (verse) => verse.track,
  )
  verses!: Relation<Verse[]>
}

@Entity()
@Resource({ auth: permitAll })
class Verse {
  @PrimaryGeneratedColumn() id!: number
  @Column(longText) text!: string
  @ManyToOne(
    () => Track,
    (track) => track.verses,
    { nullable: false },
  )
  track!: Relation<Track>
}

const albums = Array.from({ length: 15 }, (_, index) => index + 1)
const requests = new EventEmitter()
let world: World
let socket: Socket
/** A client does not read its response of 15 MiB, so one MiB of `responseBytes` is left. */
beforeAll(async () => {
  world = await openWorld({
    entities: [Story, Album, Track, Verse],
    mount: { limit: { max: 7_000 }, limits: { responseBytes: 16 * MiB, included: 20_000 } },
    before: (app) =>
      app.use(async (_, next) => {
        await next()
        requests.emit('answered')
      }),
  })
  const { dataSource } = world
  await dataSource.getRepository(Story).insert([{ body: 'z'.repeat(15 * MiB) }])
  await insertRows(
    dataSource,
    Album,
    albums.map((id) => ({ id, cover: 'x'.repeat(100_000 * id) })),
  )
  const tracks = albums.flatMap((album) =>
    Array.from({ length: 900 }, (_, position) => ({ position, album: { id: album } })),
  )
  await insertRows(dataSource, Track, tracks)
  await dataSource
    .getRepository(Verse)
    .insert([1, 2, 3].map((track) => ({ text: 'y'.repeat(400_000), track: { id: track } })))
  const get = 'GET /api/story/1/ HTTP/1.1\r\nHost: x\r\n\r\n'
  socket = (await Promise.all([openPaused(world.url, get), once(requests, 'answered')]))[0]
})
afterAll(async () => {
  socket.destroy()
  await world.close()
  expect(world.faults).toEqual([])
})

/** Description, resource and query, expected status, and the tables that are read before the response. */
test.each([
  ['many records without related ones', 'track/?limit=7000&fields=position', 200, ['track']],
  [
    'many records that each include one',
    'track/?limit=7000&fields=position&include=album(fields:(id))',
    503,
    ['track'],
  ],
  ['few records', 'album/?fields=id&include=tracks(limit:2)', 200, ['album', 'track']],
  ['many short records', 'album/?fields=id&include=tracks(limit:900,fields:(position))', 503, ['album', 'track']],
  [
    'many short records: their own lists are not read',
    'album/?fields=id&include=tracks(limit:900,fields:(position),include:(verses))',
    503,
    ['album', 'track'],
  ],
  ['long records: their lists are not read', 'album/?include=tracks(limit:1)', 503, ['album']],
  [
    'long records in a list',
    'album/?fields=id&include=tracks(limit:5,include:(verses))',
    503,
    ['album', 'track', 'verse'],
  ],
])('with one MiB of memory left: %s', async (_, query, status, tables) => {
  world.statements()
  const reply = await send(world.url, `GET /api/${query}`)
  const statements = world.statements()
  const isRead = (table: string): boolean => statements.some((sql) => new RegExp(`FROM \\S*\\b${table}\\b`).test(sql))
  const read = ['album', 'track', 'verse'].filter(isRead)
  expect([reply.status, read]).toEqual([status, tables])
  expect(reply.text.includes('responseBytes')).toBe(status === 503)
})
