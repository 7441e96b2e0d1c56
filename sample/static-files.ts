import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import type { Middleware } from 'koa'
import { UserError } from './user-error'

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.html': 'text/html',
  '.js': 'text/javascript',
}

/**
 * Serves the files of a built application, on the service's own origin.
 * @param base path with a slash at the end, which leads to `index.html`
 * @param script script of package.json that builds the application
 * @throws {UserError} where it has not been built
 */
export function staticFiles(base: string, folder: string, script: string): Middleware {
  if (!existsSync(folder)) throw new UserError(`${folder} does not exist: npm run ${script} builds and starts it`)
  const files = filesIn(folder)
  return (context, next) => {
    const isBase = context.path === base || `${context.path}/` === base
    const name = isBase ? 'index.html' : context.path.slice(base.length)
    const file = isBase || context.path.startsWith(base) ? files.get(name) : undefined
    if (file === undefined) return next()
    context.type = types[extname(name)] ?? 'application/octet-stream'
    context.body = file
    return
  }
}

/** Files by their paths in the folder. They are read at once: whatever a request says, no other file is served. */
function filesIn(folder: string): ReadonlyMap<string, Buffer> {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => extname(name) !== '')
  return new Map(names.map((name) => [name, readFileSync(join(folder, name))]))
}
