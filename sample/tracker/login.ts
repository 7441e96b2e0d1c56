import { randomBytes } from 'node:crypto'
import { SignJWT } from 'jose'
import type { Context, Middleware } from 'koa'
import bodyParser from 'koa-bodyparser'
import { RateLimiterMemory } from 'rate-limiter-flexible'
import type { DataSource } from 'typeorm'
import { hashPassword, verifyPassword } from 'typeorm-resources'
import { Person } from './people'

/** Secret, issuer and audience of the tokens. Without `TOKEN_SECRET`, tokens become invalid when the server restarts. */
export const tokens = {
  secret: process.env['TOKEN_SECRET'] || randomBytes(32).toString('hex'),
  issuer: 'https://tracker.example.org',
  audience: 'https://tracker.example.org/api',
}

/** Lifetime of tokens in seconds. Tokens cannot be revoked. */
const lifetime = 900

/**
 * Signs a token with the id of a person as its subject. User names are not used, because they may change.
 * @param expires seconds from now
 */
export function signToken(id: number, expires = lifetime): Promise<string> {
  return new SignJWT()
    .setProtectedHeader({ alg: 'HS256' })
    .setIssuer(tokens.issuer)
    .setAudience(tokens.audience)
    .setSubject(String(id))
    .setExpirationTime(Math.floor(Date.now() / 1000) + expires)
    .sign(new TextEncoder().encode(tokens.secret))
}

/**
 * Middleware for `POST /login`, which exchanges a name and a password for a token. The body is parsed for this route only:
 * the service parses its own bodies.
 */
export function login(dataSource: DataSource): Middleware {
  const parseBody = bodyParser()
  // The option `failedLogins` does not apply here. Correct passwords count too, because each check is expensive.
  const limiter = new RateLimiterMemory({ points: 100, duration: 15 * 60 })
  const unknownPerson = hashPassword('the password of nobody')
  return async (context: Context, next) => {
    if (context.method !== 'POST' || context.path !== '/login') return next()
    if (!(await limiter.consume(context.ip).then(Boolean, () => false))) {
      context.status = 429
      return
    }
    await parseBody(context, async () => {})
    const { username, password } = Object(context.request.body)
    const person = await dataSource.getRepository(Person).findOneBy({ username: String(username) })
    // An unknown name is compared with a hash, too: otherwise, the time of the response would show which names exist.
    const isCorrect = await verifyPassword(String(password), person?.password ?? (await unknownPerson))
    // Some databases find names without regard to case.
    if (!isCorrect || person === null || person.username !== username) {
      context.status = 401
      return
    }
    context.set('Cache-Control', 'no-store')
    context.body = { access_token: await signToken(person.id), token_type: 'Bearer', expires_in: lifetime }
  }
}
