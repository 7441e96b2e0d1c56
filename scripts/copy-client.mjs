import { copyFileSync, cpSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'

// Copies the built modules for browsers into the package `typeorm-resources-client`, which has no dependencies.
const root = resolve(import.meta.dirname, '..')
const target = join(root, 'packages/client')
for (const folder of ['admin', 'client']) {
  rmSync(join(target, folder), { recursive: true, force: true })
  cpSync(join(root, 'dist', folder), join(target, folder), { recursive: true })
}
copyFileSync(join(root, 'LICENSE'), join(target, 'LICENSE'))
