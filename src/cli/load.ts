import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { DataSource } from 'typeorm'
import type { MountOptions } from '../site/mount-options'
import { CommandError } from './command-error'

/** Loads the only data source, or promise of one, that a file exports. @throws {CommandError} */
export async function loadDataSource(file: string): Promise<DataSource> {
  const exported = [...new Set(Object.values(await load(file)).flatMap((value) => [value, Object(value).default]))]
  const dataSources = await Promise.all(exported.filter((value) => isDataSource(value) || value instanceof Promise))
  const [dataSource, ...others] = dataSources.filter(isDataSource)
  if (dataSource === undefined) throw new CommandError(`${file} does not export a DataSource of TypeORM`, 1)
  if (others.length > 0)
    throw new CommandError(`${file} exports ${others.length + 1} DataSources; it must export one`, 1)
  return dataSource
}

/**
 * Recognises data sources by their properties: the file may import another copy of TypeORM, so `instanceof` does not
 * work.
 */
function isDataSource(value: unknown): value is DataSource {
  return typeof value === 'object' && value !== null && 'entityMetadatas' in value && 'buildMetadatas' in value
}

/** Loads the options of a mount, the default export of a file. @throws {CommandError} */
export async function loadOptions(file: string): Promise<MountOptions> {
  const loaded = await load(file)
  const options: unknown = Object(loaded['default']).default ?? loaded['default']
  if (typeof options !== 'object' || options === null) {
    throw new CommandError(`${file} must have the options of mountResources as its default export`, 1)
  }
  return options
}

/**
 * Packages that compile TypeScript on loading, in order of preference. `tsx` does not emit the metadata of decorators.
 */
const typescriptLoaders = ['@swc-node/register', 'ts-node/register/transpile-only', 'tsx/cjs']

async function load(file: string): Promise<Readonly<Record<string, unknown>>> {
  const path = resolve(file)
  if (!existsSync(path)) throw new CommandError(`There is no file ${file}`, 1)
  const { href } = pathToFileURL(path)
  if (!/\.[cm]?ts$/.test(path)) return import(href)
  const requireFrom = createRequire(path)
  const loader = typescriptLoaders.find((name) => canResolve(requireFrom, name))
  if (loader === undefined) {
    throw new CommandError(
      `${file} is TypeScript: compile it with tsc and name the compiled file, or install a loader (${typescriptLoaders[0]} or ts-node)`,
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
