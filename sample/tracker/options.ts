import { RateLimiterMemory } from 'rate-limiter-flexible'
import { apiKeys, basic, bearer, type MountOptions } from 'typeorm-resources'
import { tokens } from './login'

/**
 * Options of the mount. Every resource must have a row scope, and a request that follows a relation calls the access rule of
 * the related resource.
 */
export const trackerOptions: MountOptions = {
  requireScope: true,
  strictRelations: true,
  // People with curl, applications in a browser, and programs.
  authenticators: [
    basic(),
    bearer({ ...tokens, algorithms: ['HS256'], user: { claim: 'sub', property: 'id' } }),
    apiKeys(),
  ],
  // Wrong passwords: 100 in 15 minutes for an address, which the people of an office may share; 1,000 in an hour for a user
  // name.
  failedLogins: {
    byAddress: new RateLimiterMemory({ points: 100, duration: 15 * 60 }),
    byName: new RateLimiterMemory({ points: 1000, duration: 60 * 60 }),
  },
  passwordChange: true,
  live: true,
  info: { title: 'Project tracker' },
}
