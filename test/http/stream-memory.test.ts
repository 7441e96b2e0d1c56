import { get } from 'node:http'
import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { permitAll } from '../support/access'
import { heapInUse } from '../support/heap'
import { insertRows } from '../support/insert-rows'
import { MiB } from '../support/texts'
import { openWorld, type World } from '../world/world'

/** The memory that streamed lists need. */

@Entity()
@Resource({ auth: permitAll, formats: true })
class Reading {
  @PrimaryGeneratedColumn() id!: number
  @Column('int') level!: number
  @Column({ type: 'varchar', length: 100 }) note!: string
}

/** `STREAM_ROWS=1000000` measures more by hand. */
const rowCount = Number(process.env['STREAM_ROWS'] ?? 200_000)

let world: World
beforeAll(async () => {
  world = await openWorld({
    entities: [Reading],
    seed: async (dataSource) => {
      const note = 'n'.repeat(60)
      await insertRows(
        dataSource,
        Reading,
        Array.from({ length: 1000 }, (_, level) => ({ level, note })),
      )
      const table = dataSource.driver.escape('reading')
      for (let count = 1000; count < rowCount; count *= 2) {
        const rest = Math.min(count, rowCount - count)
        await dataSource.query(`INSERT INTO ${table} (level, note) SELECT level, note FROM ${table} LIMIT ${rest}`)
      }
    },
  })
})
afterAll(() => world.close())

test.each(['ndjson', 'csv'])('a list in %s needs the same memory for any number of records', async (format) => {
  const start = heapInUse()
  let maxHeap = 0
  let lines = 0
  let bytes = 0
  await new Promise((resolve, reject) => {
    get(`${world.url}/api/reading/?format=${format}`, { agent: false }, (incoming) => {
      let measured = 0
      incoming.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        for (const byte of chunk) if (byte === 10) lines += 1
        if (bytes - measured < MiB) return
        measured = bytes
        maxHeap = Math.max(maxHeap, heapInUse())
      })
      incoming.on('end', resolve).on('error', reject)
    }).on('error', reject)
  })
  if (rowCount > 200_000) process.stderr.write(`${rowCount} rows in ${format}: ${(maxHeap - start) / MiB} MiB\n`)
  expect(lines).toBe(format === 'csv' ? rowCount + 1 : rowCount)
  expect(maxHeap - start).toBeLessThan(10 * MiB)
})
