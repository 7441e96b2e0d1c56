/**
 * The service with every option that does not change the responses to the requests of the benchmark. It does not have the options that
 * refuse these requests (`ownerField`, `requireIfMatch`), change their responses (`paging`, `serverTiming`), or add statements to each
 * of them (`databaseSettings`). Each write also stores an entry of the audit log, except with `BENCH_AUDIT=false`.
 */
import 'reflect-metadata'
import Koa from 'koa'
import { RateLimiterMemory } from 'rate-limiter-flexible'
import { DataSource } from 'typeorm'
import { anonymous, apiKeys, basic, bearer, mountResources } from 'typeorm-resources'
import { connectionOptions } from '../engines'
import { allEntities, LogEntry } from '../model-all'
import { otherEntities } from '../other-entities'
import { database, serve } from '../serve'

const others = otherEntities(3)

serve(async () => {
  const entities = [...allEntities, ...others]
  const dataSource = await new DataSource({ ...connectionOptions(database), entities }).initialize()
  const app = new Koa()
  mountResources(app, dataSource, {
    defaultAuth: () => anonymous,
    resources: others.map((entity) => ({ entity, scope: 'all' })),
    authenticators: [
      basic(),
      bearer({
        secret: 'a secret of the benchmark, 32 bytes or more',
        issuer: 'bench',
        audience: 'bench',
        algorithms: ['HS256'],
        user: { claim: 'sub', property: 'username' },
      }),
      apiKeys(),
    ],
    failedLogins: {
      byName: new RateLimiterMemory({ points: 1000, duration: 60 }),
      byAddress: new RateLimiterMemory({ points: 1000, duration: 60 }),
    },
    passwordChange: true,
    requireScope: true,
    strictRelations: true,
    forbidden: 403,
    batch: true,
    mcp: true,
    live: true,
    ...(process.env['BENCH_AUDIT'] !== 'false' && { audit: { entity: LogEntry } }),
    allowedOrigins: ['https://admin.example.org'],
    pagingSecret: 'a secret of the benchmark',
    health: true,
    openapi: true,
    explorer: true,
    info: { title: 'Notes' },
  })
  return app.listen(0, '127.0.0.1')
})
