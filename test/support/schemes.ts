import { type Authenticator, basic, custom } from 'typeorm-resources'

/** Names and passwords, tokens and API keys. */
export interface Schemes {
  readonly authenticators: readonly Authenticator[]
  /** Users of the tokens that are valid now. */
  readonly tokens: Map<string, { readonly id: number; readonly admin: boolean }>
  /** Users of the API keys that are valid now. */
  readonly keys: Map<string, { readonly id: number; readonly admin: boolean }>
}

/** Creates authenticators of all schemes that clients support. */
export function createSchemes(): Schemes {
  const tokens: Schemes['tokens'] = new Map()
  const keys: Schemes['keys'] = new Map()
  const bearer = custom({
    scheme: 'Bearer',
    securityScheme: { type: 'http', scheme: 'bearer' },
    authenticate: (token) => tokens.get(token),
  })
  const apiKey = custom({
    scheme: 'ApiKey',
    securityScheme: {
      type: 'apiKey',
      in: 'header',
      name: 'Authorization',
      description: '`ApiKey`, a space and the key.',
    },
    authenticate: (key) => keys.get(key),
  })
  return { authenticators: [basic(), bearer, apiKey], tokens, keys }
}
