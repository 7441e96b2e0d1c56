import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { type CanActivate, Controller, Get, Module } from '@nestjs/common'
import { APP_GUARD, NestFactory } from '@nestjs/core'
import type { NestExpressApplication } from '@nestjs/platform-express'
import { TypeOrmModule } from '@nestjs/typeorm'
import Koa from 'koa'
import { Column, DataSource, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { mountResources, Resource } from 'typeorm-resources'
import { type Reply, type SendOptions, send } from './client'
import { permitAll } from './support/access'

@Entity()
@Resource({ auth: permitAll })
class Note {
  @PrimaryGeneratedColumn() id!: number
  @Column() text!: string
}

@Controller('own')
class OwnController {
  @Get() answer(): string {
    return 'own'
  }
}

const refusing: CanActivate = { canActivate: () => false }
const database = { type: 'better-sqlite3', database: ':memory:', synchronize: true } as const

@Module({
  imports: [TypeOrmModule.forRoot({ ...database, entities: [Note] })],
  controllers: [OwnController],
  providers: [{ provide: APP_GUARD, useValue: refusing }],
})
class AppModule {}

let site: NestExpressApplication
afterEach(() => site.close())

/** Starts a Nest application. @param parsesFirst whether Nest's body parsers run before the service */
async function serve(parsesFirst: boolean): Promise<(line: string, options?: SendOptions) => Promise<Reply>> {
  site = await NestFactory.create<NestExpressApplication>(AppModule, { logger: false })
  site.setGlobalPrefix('v1')
  if (parsesFirst) site.useBodyParser('json').useBodyParser('urlencoded', { extended: true })
  const api = new Koa()
  mountResources(api, site.get(DataSource), { prefix: '' })
  site.use('/api', api.callback())
  const server = await site.listen(0, '127.0.0.1')
  if (!server.listening) await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return (line, options) => send(`http://127.0.0.1:${port}`, line, options)
}

test.each([
  ['before', false],
  ['after', true],
])('in Nest, %s its body parsers, records are created and listed with whole paths', async (_, parsesFirst) => {
  const request = await serve(parsesFirst)
  const made = await request('POST /api/note/', { body: { text: 'é' } })
  expect([made.status, made.headers.location, made.json()]).toEqual([201, '/api/note/1/', { id: 1, text: 'é' }])
  const headers = { 'Content-Type': 'application/x-www-form-urlencoded' }
  expect((await request('POST /api/note/', { headers, body: 'data={"text":"form"}' })).status).toBe(201)
  const list = await request('GET /api/note/?limit=1')
  expect(list.json()).toMatchObject({ meta: { next: '/api/note/?limit=1&page=2' } })
})

test("Nest's guards and its global prefix apply only to its own controllers", async () => {
  const request = await serve(false)
  expect((await request('GET /v1/own')).status).toBe(403)
  expect((await request('GET /api/note/')).status).toBe(200)
  expect((await request('GET /v1/api/note/')).status).toBe(404)
})

test('Nest destroys the data source when it closes', async () => {
  await serve(false)
  const dataSource = site.get(DataSource)
  await site.close()
  expect(dataSource.isInitialized).toBe(false)
})
