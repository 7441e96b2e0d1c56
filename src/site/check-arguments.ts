const call = 'mountResources(app, dataSource, options)'

/**
 * Checks the arguments of `mountResources`, which programs in JavaScript may mistake. The classes are not compared,
 * because the application may have another copy of Koa or TypeORM.
 * @throws {TypeError}
 */
export function checkArguments(app: unknown, dataSource: unknown): void {
  if (isDataSource(app) && isKoa(dataSource)) {
    throw new TypeError(`the application and the data source are in the wrong order: write ${call}`)
  }
  if (!isKoa(app)) {
    const recipe = hasMethods(app, ['use']) ? '; for Express and Nest see docs/how-to/express-and-nest.md' : ''
    throw new TypeError(`the first argument of ${call} must be a Koa application, not ${kindOf(app)}${recipe}`)
  }
  if (!isDataSource(dataSource)) {
    throw new TypeError(`the second argument of ${call} must be a DataSource of TypeORM, not ${kindOf(dataSource)}`)
  }
}

/** Application of Koa. One of Express or Nest has no method `callback`. */
function isKoa(value: unknown): boolean {
  return hasMethods(value, ['use', 'callback'])
}

function isDataSource(value: unknown): boolean {
  return hasMethods(value, ['initialize', 'getRepository']) && Object(value).options !== undefined
}

function hasMethods(value: unknown, names: readonly string[]): boolean {
  return names.every((name) => typeof Object(value)[name] === 'function')
}

/** Names the kind of a value. It shows no content, because options of a data source have passwords. */
function kindOf(value: unknown): string {
  if (value === undefined || value === null) return String(value)
  if (hasMethods(value, ['then'])) return 'a promise: await it'
  if (isDataSource(value)) return 'a DataSource'
  if (isKoa(value)) return 'a Koa application'
  if (hasMethods(value, ['use'])) return 'an application of another framework'
  return typeof value === 'object' ? 'another object' : `a ${typeof value}`
}
