/** Signing in with tokens, for the guide: the sample itself has names and passwords. */

import { createDataProvider, createTokenAuth } from 'typeorm-resources/react-admin'

const { authProvider, fetch } = createTokenAuth('/api', { login: requestToken, refresh: renewToken })
const dataProvider = createDataProvider('/api', { fetch })

export { authProvider, dataProvider }

async function requestToken(credentials: { username: string; password: string }): Promise<string> {
  const response = await window.fetch('/login', { method: 'POST', body: JSON.stringify(credentials) })
  if (!response.ok) throw new Error('The username or the password is wrong')
  return response.text()
}

/** Asks for a new token with the cookie of the login. */
async function renewToken(): Promise<string | null> {
  const response = await window.fetch('/renew', { method: 'POST' })
  return response.ok ? response.text() : null
}
