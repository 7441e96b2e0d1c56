import type { Account } from '../access/account'
import { requireSameOrigin } from '../access/cross-origin'
import { partiesOf } from '../access/passwords/fair-queue'
import { RequestAuthentication } from '../access/request-authentication'
import { requirePrincipal } from '../access/require-principal'
import type { Principal } from '../access/rule'
import { type DbSession, withPrincipal } from '../connection/db-session'
import { ApiError, FieldErrors, notConnected } from '../errors'
import { renewAccess } from '../pipeline/renewed-access'
import type { Service } from '../pipeline/service'
import type { Body } from '../request/body'
import { emptyResponse, withCaching } from '../response/http-response'
import type { PasswordChange } from '../write/password-change'
import type { PageHandler, PageRequest } from './page'
import { readPageBody } from './payload'
import { loginRule } from './session'

/**
 * Changes the password of the user who sends the request. The checks run in the same order as for a resource: access rule,
 * origin, kind of credentials, body, values.
 */
export const passwordPage: PageHandler = async (request) => {
  const { session, service, context } = request
  if (service?.passwordChange === undefined) throw notConnected()
  const { passwords, passwordChange, settingsFor } = service
  const check = (): ReturnType<typeof requireAccount> => requireAccount(service, session, context)
  const renewed = renewAccess(await check(), check)
  const body = await readPageBody(request, service)
  const { principal, account } = await renewed()
  const { oldPassword, newPassword } = await parseChange(body, passwordChange, account)
  const username = String(account.username)
  if (!(await passwords.matches({ username, password: oldPassword }, String(account.password), context.ip))) {
    throw refused('old', 'is not the current password')
  }
  const hash = await passwords.hash(newPassword, partiesOf(context.ip, `id ${account.id}`))
  const writeSession = withPrincipal(session, principal, settingsFor?.(principal))
  if (!(await passwordChange.write(writeSession, account, hash))) {
    throw new ApiError('conflict', 'the password has been changed at the same time')
  }
  return withCaching(emptyResponse(), false)
}

/**
 * Requires the user name and the password of a user who may log in.
 * @returns the user, as principal and as stored
 * @throws {ApiError} `unauthorized`, `forbidden`, `cross-origin`
 */
async function requireAccount(
  service: Service,
  session: DbSession,
  context: PageRequest['context'],
): Promise<{ readonly principal: Principal; readonly account: Account }> {
  const { verifyCredentials, forbidden, allowedOrigins } = service
  const authentication = new RequestAuthentication(verifyCredentials, session, context)
  const principal = await requirePrincipal({ rule: loginRule(service) }, authentication, forbidden)
  requireSameOrigin(context.headers, context.host, allowedOrigins)
  const account = await authentication.account()
  if (account === undefined) {
    throw new ApiError('forbidden', 'these credentials cannot change a password; send the user name and the password')
  }
  return { principal, account }
}

/** @throws {ApiError} `bad-values` with all errors */
async function parseChange(
  body: Body,
  { check }: PasswordChange,
  account: Parameters<PasswordChange['check']>[0],
): Promise<{ readonly oldPassword: string; readonly newPassword: string }> {
  const errors = new FieldErrors()
  for (const name of body.keys()) {
    if (name !== 'old' && name !== 'new') errors.add(name, 'is not a field; fields: old, new')
  }
  for (const name of ['old', 'new']) if (!body.has(name)) errors.add(name, 'is required')
  const [oldPassword, newPassword] = [body.get('old'), body.get('new')]
  if (body.has('old') && typeof oldPassword !== 'string') errors.add('old', 'must be text')
  if (body.has('new')) await check(account, newPassword, errors)
  errors.raise('bad-values')
  return { oldPassword: String(oldPassword), newPassword: String(newPassword) }
}

function refused(field: string, message: string): ApiError {
  return new ApiError('bad-values', `${field} ${message}`, { errors: [{ field, message }] })
}
