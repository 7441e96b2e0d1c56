import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import type { Middleware } from 'koa'
import { UserError } from './user-error'

const types: Readonly<Record<string, string>> = { '.html': 'text/html', '.js': 'text/javascript' }

/**
 * Serves the react-admin application of sample/admin under `/admin/`, on the service's own origin.
 * @param folder where `npm run admin:build` puts it
 * @throws {UserError} where it has not been built
 */
export function adminPage(folder: string = join(__dirname, '..', 'admin', 'dist')): Middleware {
  const files = filesIn(folder)
  return (context, next) => {
    const path = context.path.replace(/^\/admin\/?$/, '/admin/index.html')
    const file = files.get(path)
    if (file === undefined) return next()
    context.type = types[extname(path)] ?? 'application/octet-stream'
    context.body = file
    return
  }
}

/** By their paths: whatever a request says, no other file is read. */
function filesIn(folder: string): ReadonlyMap<string, Buffer> {
  if (!existsSync(folder)) {
    throw new UserError('The admin application is not built: npm run sample:admin builds and starts it')
  }
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => extname(name) !== '')
  return new Map(names.map((name) => [`/admin/${name}`, readFileSync(join(folder, name))]))
}
