import {
  changedNote,
  deepPage,
  get,
  highestScore,
  newNote,
  noteCount,
  type Requests,
  scatter,
  send,
  userCount,
} from './work'

// Left out for all peers: signing in, which none does by itself, and refusals, since what is refused differs.

const score = (pick: number): number => scatter(pick, highestScore)
const user = (pick: number): string => `user${1 + scatter(pick, userCount)}`
const item = (pick: number): string => `/notes/${1 + scatter(pick, noteCount)}`

/** The peers know the foreign key by the name of its property. */
function createdNote(pick: number): Readonly<Record<string, unknown>> {
  const { author_id: authorId, ...values } = newNote(pick)
  return { ...values, authorId }
}

export const remultRequests: Requests = {
  list: (pick) => get(`/api/notes?_limit=20&_page=${1 + (pick % 20)}`),
  filter: (pick) => get(`/api/notes?published=true&score.lte=${score(pick)}&_sort=score&_order=desc&_limit=20`),
  join: (pick) =>
    get(`/api/notes?$custom$byAuthor=${encodeURIComponent(JSON.stringify({ username: user(pick) }))}&_limit=20`),
  deepPage: (pick) => get(`/api/notes?_limit=20&_page=${deepPage(pick)}`),
  item: (pick) => get(`/api${item(pick)}`),
  create: (pick) => send('POST', '/api/notes', createdNote(pick)),
  update: (pick) => send('PUT', `/api${item(pick)}`, changedNote(pick)),
  list500: (pick) => get(`/api/notes?_limit=500&_page=${1 + (pick % 10)}`),
}

/** It passes on the text of a boolean, and SQLite stores numbers. */
export const nestPaginateRequests: Requests = {
  list: (pick) => get(`/notes?limit=20&page=${1 + (pick % 20)}`),
  filter: (pick) =>
    get(`/notes?filter.published=1&filter.score=$lte:${score(pick)}&sortBy=score:DESC&sortBy=id:ASC&limit=20`),
  join: (pick) => get(`/notes?filter.author.username=${user(pick)}&limit=20`),
  deepPage: (pick) => get(`/notes?limit=20&page=${deepPage(pick)}`),
  item: (pick) => get(item(pick)),
  create: (pick) => send('POST', '/notes', createdNote(pick)),
  update: (pick) => send('PATCH', item(pick), changedNote(pick)),
  list500: (pick) => get(`/notes?limit=500&page=${1 + (pick % 10)}`),
}

/** Nothing is counted where no page is named. */
export const nestCrudRequests: Requests = {
  list: (pick) => get(`/notes?limit=20&page=${1 + (pick % 20)}`),
  filter: (pick) =>
    get(
      `/notes?filter=published%7C%7C$eq%7C%7Ctrue&filter=score%7C%7C$lte%7C%7C${score(pick)}&sort=score,DESC&sort=id,ASC&limit=20`,
    ),
  join: (pick) => get(`/notes?join=author&filter=author.username%7C%7C$eq%7C%7C${user(pick)}&limit=20`),
  deepPage: (pick) => get(`/notes?limit=20&page=${deepPage(pick)}`),
  item: (pick) => get(item(pick)),
  create: (pick) => send('POST', '/notes', createdNote(pick)),
  update: (pick) => send('PATCH', item(pick), changedNote(pick)),
  list500: (pick) => get(`/notes?limit=500&page=${1 + (pick % 10)}`),
}
