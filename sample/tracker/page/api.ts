import { type Client, createClient, type Excluding } from 'typeorm-resources/client'
import type { Entry } from '../billing'
import type { Person } from '../people'
import type { Comment, Project, Tag, Task } from '../projects'

/** The resources of the page. `Excluding` names the fields that the resources hide: types do not contain decorators. */
interface Site {
  readonly comment: Comment
  readonly entry: Entry
  readonly person: Excluding<Person, 'password' | 'managesAll'>
  readonly project: Project
  readonly tag: Tag
  readonly task: Excluding<Task, 'deleted'>
}

/** A signed-in user. The token is only kept in memory, and is lost when the page is reloaded. */
export interface Session {
  readonly username: string
  readonly api: Client<Site>
  /** Reads time entries as CSV. The query has filters. */
  readonly exportEntries: (filters: URLSearchParams) => Promise<Blob>
}

/** Without `omit`, the browser asks for a password itself after a 401. */
const send: typeof fetch = (input, init) => fetch(input, { ...init, credentials: 'omit' })

/** Exchanges a name and a password for a token. */
export async function signIn(username: string, password: string): Promise<Session> {
  const response = await send('/login', { method: 'POST', body: new URLSearchParams({ username, password }) })
  if (response.status === 401) throw new Error('The name or the password is wrong.')
  if (!response.ok) throw new Error(`The sign-in failed with status ${response.status}.`)
  const { access_token: token } = await response.json()
  return {
    username,
    api: createClient<Site>('/api', { token, fetch: send }),
    exportEntries: async (filters) => {
      const query = new URLSearchParams([...filters, ['format', 'csv'], ['ordering', 'day']])
      const file = await send(`/api/entry/?${query}`, { headers: { Authorization: `Bearer ${token}` } })
      if (!file.ok) throw new Error(`The export failed with status ${file.status}. Sign in again if it is 401.`)
      return file.blob()
    },
  }
}
