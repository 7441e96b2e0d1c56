import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { DataSource } from 'typeorm'
import type { MountOptions } from '../site/mount-options'

/** What the user has done, in a sentence; `code` is that of the process. */
export class CommandError extends Error {
  constructor(
    message: string,
    readonly code: 1 | 2,
  ) {
    super(message)
  }
}

/** The data source that a file exports, or promises. @throws {CommandError} */
export async function loadDataSource(file: string): Promise<DataSource> {
  const found = [...new Set(Object.values(await load(file)).flatMap((value) => [value, Object(value).default]))]
  const dataSources = await Promise.all(found.filter((value) => isDataSource(value) || value instanceof Promise))
  const [dataSource, ...others] = dataSources.filter(isDataSource)
  if (dataSource === undefined) throw new CommandError(`${file} exports no DataSource of TypeORM`, 1)
  if (others.length > 0)
    throw new CommandError(`${file} exports ${others.length + 1} DataSources; give a file with one`, 1)
  return dataSource
}

/** The file may have a TypeORM of its own. */
function isDataSource(value: unknown): value is DataSource {
  return typeof value === 'object' && value !== null && 'entityMetadatas' in value && 'buildMetadatas' in value
}

/** What a file gives a mount. @throws {CommandError} */
export async function loadOptions(file: string): Promise<MountOptions> {
  const loaded = await load(file)
  const options: unknown = Object(loaded['default']).default ?? loaded['default']
  if (typeof options !== 'object' || options === null) {
    throw new CommandError(`${file} must have the options of mountResources as its default export`, 1)
  }
  return options
}

/** What compiles TypeScript as it is loaded, decorators and their metadata too; the last without these. */
const loaders = ['@swc-node/register', 'ts-node/register/transpile-only', 'tsx/cjs']

async function load(file: string): Promise<Readonly<Record<string, unknown>>> {
  const path = resolve(file)
  if (!existsSync(path)) throw new CommandError(`There is no file ${file}`, 1)
  const { href } = pathToFileURL(path)
  if (!/\.[cm]?ts$/.test(path)) return import(href)
  const requireFrom = createRequire(path)
  const loader = loaders.find((name) => canResolve(requireFrom, name))
  if (loader === undefined) {
    throw new CommandError(
      `${file} is TypeScript, and nothing here compiles it: npm install --save-dev ${loaders[0]}`,
      1,
    )
  }
  requireFrom(loader)
  return requireFrom(path)
}

function canResolve({ resolve: find }: NodeJS.Require, name: string): boolean {
  try {
    find(name)
    return true
  } catch {
    return false
  }
}
