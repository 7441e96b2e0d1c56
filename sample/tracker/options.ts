import { RateLimiterMemory } from 'rate-limiter-flexible'
import { apiKeys, basic, bearer, type MountOptions } from 'typeorm-resources'
import { tokens } from './login'

/** The mount fails if a resource has no row scope. All access rules count where a request follows a relation. */
export const trackerOptions: MountOptions = {
  requireScope: true,
  strictRelations: true,
  // People with curl, applications in a browser, and programs.
  authenticators: [
    basic(),
    bearer({ ...tokens, algorithms: ['HS256'], user: { claim: 'sub', property: 'id' } }),
    apiKeys(),
  ],
  // An office, whose people have one address, may have 100 wrong passwords in 15 minutes, a name 1,000 in an hour.
  failedLogins: {
    byAddress: new RateLimiterMemory({ points: 100, duration: 15 * 60 }),
    byName: new RateLimiterMemory({ points: 1000, duration: 60 * 60 }),
  },
  passwordChange: true,
  live: true,
  info: { title: 'Project tracker' },
}
