/** Options of {@link createAccessControl}. */
export interface AccessControlOptions {
  /** Sends requests with the credentials of the signed-in user, such as `fetch` of `createBasicAuth`. */
  readonly fetch?: typeof fetch
}

/** Which actions an admin application offers to its user. The service checks each request anyway. */
export interface AccessControl {
  /**
   * `canAccess` of react-admin's `AuthProvider`. Actions: `list`, `show`, `create`, `edit`, `delete`, `clone` and
   * `export`. The resource may name a field: `task.budget` with the action `read` or `write`.
   */
  readonly canAccess: (params: { readonly action: string; readonly resource: string }) => Promise<boolean>
  /** Refine's `AccessControlProvider`. The action `field` refers to `params.field`. */
  readonly accessControlProvider: {
    readonly can: (params: {
      readonly action: string
      readonly resource?: string | undefined
      readonly params?: { readonly field?: string } | undefined
    }) => Promise<{ can: boolean }>
  }
  /** Clears the cached permissions. Call it when another user has signed in. */
  readonly reset: () => void
}

/** The operations of a resource in an OpenAPI document. */
type Operations = Readonly<Record<string, { readonly 'x-needs'?: string } | undefined>>

/** Schema of a field. */
interface Property {
  readonly readOnly?: boolean
}

/** The parts of the OpenAPI document that are used. */
interface Description {
  readonly paths: Readonly<Record<string, Operations | undefined>>
  readonly components: {
    readonly schemas: Readonly<Record<string, { readonly properties?: Readonly<Record<string, Property>> } | undefined>>
  }
}

/** Permissions of the user: the OpenAPI document that the user may read, and whether they are an administrator. */
interface Access {
  readonly description: Description
  readonly isAdmin: boolean
}

/** Time after which the document is requested again, in milliseconds: permissions may change. */
const maxAgeMs = 30_000

/** The operation that each action needs: its path after the collection, and its method. */
const operationOf: Readonly<Record<string, readonly [path: string, method: string]>> = {
  list: ['', 'get'],
  export: ['', 'get'],
  create: ['', 'post'],
  clone: ['', 'post'],
  show: ['/{id}', 'get'],
  edit: ['/{id}', 'put'],
  delete: ['/{id}', 'delete'],
}

/**
 * Creates the access control of an admin application. It reads the OpenAPI document of the service, which has only the
 * fields and operations that its reader may use. Without this document (`openapi: false`), everything is offered.
 * @param baseUrl URL of the mount, such as `/api`
 * @example
 * const { authProvider, fetch } = createBasicAuth('/api')
 * const { canAccess } = createAccessControl('/api', { fetch })
 * const authProviderWithAccess = { ...authProvider, canAccess }
 */
export function createAccessControl(baseUrl: string, options: AccessControlOptions = {}): AccessControl {
  const { fetch: fetchFunction = fetch } = options
  const base = baseUrl.replace(/\/+$/, '')
  let known: { readonly access: Promise<Access | undefined>; readonly until: number } | undefined
  const read = async (): Promise<Access | undefined> => {
    const response = await fetchFunction(`${base}/openapi.json`)
    if (!response.ok) return undefined
    const description = (await response.json()) as Description
    const session = await fetchFunction(`${base}/-/session`)
    const { admin = false } = session.ok ? ((await session.json()) as { readonly admin?: boolean }) : {}
    return { description, isAdmin: admin }
  }
  const accessNow = async (): Promise<Access | undefined> => {
    if (known === undefined || known.until < Date.now()) known = { access: read(), until: Date.now() + maxAgeMs }
    try {
      return await known.access
    } catch (error) {
      known = undefined
      throw error
    }
  }
  const canAccess: AccessControl['canAccess'] = async ({ action, resource }) => {
    const access = await accessNow()
    if (access === undefined) return true
    const [name = '', field] = resource.split(/\.(.*)/s)
    return field === undefined ? permits(access, name, action) : hasField(access, name, field, action)
  }
  return {
    canAccess,
    accessControlProvider: {
      can: async ({ action, resource = '', params: { field } = {} }) => ({
        can: await canAccess(
          action === 'field' && field !== undefined
            ? { action: 'read', resource: `${resource}.${field}` }
            : { action, resource },
        ),
      }),
    },
    reset: () => {
      known = undefined
    },
  }
}

/** Whether the service permits an action. True for unknown actions and resources, which belong to the application. */
function permits({ description, isAdmin }: Access, resource: string, action: string): boolean {
  const [path, method] = operationOf[action] ?? []
  if (path === undefined || method === undefined || description.paths[`/${resource}`] === undefined) return true
  const operation = description.paths[`/${resource}${path}`]?.[method]
  return operation !== undefined && (isAdmin || operation['x-needs'] !== 'admins')
}

/** Whether a record shows a field, or whether a body may contain it if the action is `write` or `edit`. */
function hasField({ description }: Access, resource: string, field: string, action: string): boolean {
  const { schemas } = description.components
  if (schemas[resource] === undefined) return true
  const propertyIn = (schema: string): Property | undefined => schemas[schema]?.properties?.[field]
  if (action !== 'write' && action !== 'edit') return propertyIn(resource) !== undefined
  return ['create', 'update'].some((body) => {
    const property = propertyIn(`${resource}.${body}`)
    return property !== undefined && property.readOnly !== true
  })
}
