import cluster from 'node:cluster'
import { closeGracefully } from 'typeorm-resources'
import type { ChildNews, ChildOptions } from './child-site'
import { createSource, serveSite } from './site'
import { sleep } from './time'

/** The site of these tests as a process of its own, which each answer names. It says its port, and how many requests it is at work on. */
async function main({ source, slow = 0, closing }: ChildOptions): Promise<void> {
  const dataSource = await createSource(source).initialize()
  let running = 0
  const site = await serveSite(dataSource, {
    before: (app) =>
      app.use(async (context, next) => {
        const { path } = context
        context.set('X-Process', String(process.pid))
        tellParent({ running: ++running })
        // What hangs never comes to an end.
        await (path === '/hang' ? new Promise(() => {}) : sleep(slow))
        await next()
      }),
  })
  process.once('SIGTERM', async () => {
    const isDone = await closeGracefully(site.server, dataSource, closing ?? {}).then(
      () => true,
      () => false,
    )
    tellParent({ closed: { isDone, isInitialized: dataSource.isInitialized } })
  })
  tellParent({ url: site.url })
}

function tellParent(news: ChildNews): void {
  process.send?.(news)
}

/** Processes that share a port; one that has ended is replaced. */
function lead(workers: number): void {
  cluster.on('exit', () => cluster.fork())
  let listening = 0
  cluster.on('listening', (_, { port }) => {
    if (++listening === workers) tellParent({ url: `http://127.0.0.1:${port}` })
  })
  for (let worker = 0; worker < workers; worker++) cluster.fork()
}

const options: ChildOptions = JSON.parse(process.argv[2] ?? '{}')
if (cluster.isWorker) {
  void main(options)
} else {
  // Without its parent it has no work to do.
  process.once('disconnect', () => process.exit(1))
  // It ends when nothing is left to do, not when its parent does.
  process.channel?.unref()
  if (options.workers === undefined) void main(options)
  else lead(options.workers)
}
