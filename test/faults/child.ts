import cluster from 'node:cluster'
import { Redis } from 'ioredis'
import { closeGracefully } from 'typeorm-resources'
import type { ChildOptions, ChildState } from './child-site'
import { parcelHold } from './entities'
import { createSource, serveSite } from './site'
import { sleep } from './time'

/** Runs the site in a child process. Each response names its process. The process reports its port and its number of running requests. */
async function main({ source, slow = 0, closing, mount, redisPort }: ChildOptions): Promise<void> {
  const dataSource = await createSource(source).initialize()
  let running = 0
  let held = 0
  parcelHold.wait = () => {
    reportToParent({ held: ++held })
    return new Promise(() => {})
  }
  const site = await serveSite(dataSource, {
    mount: { ...mount, ...(redisPort !== undefined && { live: { relay: connectRedis(redisPort) } }) },
    before: (app) => {
      app.on('error', (error: Error) => reportToParent({ fault: error.message }))
      app.use(async (context, next) => {
        const { path } = context
        context.set('X-Process', String(process.pid))
        reportToParent({ running: ++running })
        // Requests for this path never get a response.
        await (path === '/hang' ? new Promise(() => {}) : sleep(slow))
        await next()
      })
    },
  })
  process.once('SIGTERM', async () => {
    const isDone = await closeGracefully(site.server, dataSource, closing ?? {}).then(
      () => true,
      () => false,
    )
    reportToParent({ closed: { isDone, isInitialized: dataSource.isInitialized } })
  })
  reportToParent({ url: site.url })
}

function connectRedis(port: number): Redis {
  const redis = new Redis(port)
  // The client connects again by itself.
  redis.on('error', () => undefined)
  return redis
}

function reportToParent(state: ChildState): void {
  process.send?.(state)
}

/** Starts worker processes that share a port, and replaces those that end. */
function startWorkers(workers: number): void {
  cluster.on('exit', () => cluster.fork())
  let listening = 0
  cluster.on('listening', (_, { port }) => {
    if (++listening === workers) reportToParent({ url: `http://127.0.0.1:${port}` })
  })
  for (let worker = 0; worker < workers; worker++) cluster.fork()
}

const options: ChildOptions = JSON.parse(process.argv[2] ?? '{}')
if (cluster.isWorker) {
  void main(options)
} else {
  // Exits when the parent process is gone.
  process.once('disconnect', () => process.exit(1))
  // The IPC channel does not keep the process running: it must exit when nothing is left to do.
  process.channel?.unref()
  if (options.workers === undefined) void main(options)
  else startWorkers(options.workers)
}
