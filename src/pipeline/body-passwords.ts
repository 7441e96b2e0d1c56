import { partiesOf } from '../access/passwords/fair-queue'
import { FieldErrors, type RecordPosition } from '../errors'
import { maxNestedLevels } from '../query/nested-body'
import type { ResourceView } from '../schema/resource-view'
import { checkPasswordCount, passwordFieldOf } from './hash-passwords'
import { memberOf, membersNamed } from './related-rules'
import type { PermittedRequest, Service } from './service'

/** A password in a body. */
export interface BodyPassword {
  /** `people[0].password`. */
  readonly path: string
  /** Not checked yet: any JSON. */
  readonly value: unknown
}

/**
 * The passwords in a body, also of those of its related records.
 * @param body members of a parsed body, or an object of JSON
 */
export function passwordsIn(view: ResourceView, body: unknown, level = 0): readonly BodyPassword[] {
  const name = passwordFieldOf(view)?.name
  const value = name === undefined ? undefined : memberOf(body, name)
  const own = name === undefined || value === undefined ? [] : [{ path: name, value }]
  if (level === maxNestedLevels) return own
  const inner = listsOf(view).flatMap((list) =>
    membersNamed(body, list.name).flatMap((record, index) =>
      passwordsIn(list.target, record, level + 1).map((one) => ({
        ...one,
        path: `${list.name}[${index}].${one.path}`,
      })),
    ),
  )
  return [...own, ...inner]
}

function mayHavePasswords(view: ResourceView, level = 0): boolean {
  if (passwordFieldOf(view) !== undefined) return true
  return level < maxNestedLevels && listsOf(view).some(({ target }) => mayHavePasswords(target, level + 1))
}

/** The members of a body that are arrays of related records. */
function listsOf(view: ResourceView) {
  return [...view.nested().values()].filter(({ type }) => type === 'list')
}

/** The body of a record, and its position in a request with several records. */
interface BodyAt {
  readonly body: unknown
  readonly position?: RecordPosition
}

/**
 * Hashes the passwords in the bodies of a request that writes them in one transaction, before this begins. Otherwise the
 * transaction would hold its locks for seconds, and if all requests share one connection, all would wait.
 * @param bodies is called only if the bodies may have passwords
 * @returns the request with the hashes, or else unchanged
 * @throws {ApiError} `bad-values` if there are too many passwords; `unavailable`
 */
export async function withPasswordsHashed(
  { passwords }: Service,
  request: PermittedRequest,
  bodies: () => Iterable<BodyAt> | AsyncIterable<BodyAt> | Promise<Iterable<BodyAt>>,
): Promise<PermittedRequest> {
  const { view } = request.store
  if (request.passwordHashes !== undefined || !mayHavePasswords(view)) return request
  const errors = new FieldErrors()
  const given: BodyPassword[] = []
  for await (const { body, position = {} } of await bodies()) {
    const own = passwordsIn(view, body)
    checkPasswordCount(own, given.length, errors.at(position))
    errors.raise('bad-values')
    given.push(...own)
  }
  const parties = partiesOf(request.context.ip, `id ${request.principal.id}`)
  const passwordHashes = new Map<string, string[]>()
  for (const { value } of given) {
    if (typeof value !== 'string') continue
    const hash = await passwords.hash(value, parties)
    passwordHashes.set(value, [...(passwordHashes.get(value) ?? []), hash])
  }
  return { ...request, passwordHashes }
}
