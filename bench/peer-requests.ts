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

// `signedIn` and `refused` are missing: the peers have no passwords of their own, and refuse other requests than the service.

const score = (pick: number): number => scatter(pick, highestScore)
const user = (pick: number): string => `user${1 + scatter(pick, userCount)}`
const item = (pick: number): string => `/notes/${1 + scatter(pick, noteCount)}`

/** A new note for peers, whose foreign key is named `authorId`. */
function createdNote(pick: number): Readonly<Record<string, unknown>> {
  const { author_id: authorId, ...values } = newNote(pick)
  return { ...values, authorId }
}

export const remultRequests: Requests = {
  list: (pick) => get(`/api/notes?_limit=20&_page=${1 + (pick % 20)}`),
  filter: (pick) => get(`/api/notes?published=true&score.lte=${score(pick)}&_sort=score,id&_order=desc,asc&_limit=20`),
  join: (pick) =>
    get(`/api/notes?$custom$byAuthor=${encodeURIComponent(JSON.stringify({ username: user(pick) }))}&_limit=20`),
  deepPage: (pick) => get(`/api/notes?_limit=20&_page=${deepPage(pick)}`),
  item: (pick) => get(`/api${item(pick)}`),
  create: (pick) => send('POST', '/api/notes', createdNote(pick)),
  update: (pick) => send('PUT', `/api${item(pick)}`, changedNote(pick)),
  list500: (pick) => get(`/api/notes?_limit=500&_page=${1 + (pick % 10)}`),
}

/** nestjs-paginate binds the text of a boolean as it is. SQLite and MariaDB need a number; PostgreSQL accepts one too. */
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

/** @dataui/crud counts the records if the request has a page. */
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

/** The RPC API of ZenStack, with the arguments of its ORM. */
export const zenstackRequests: Requests = {
  list: (pick) => get(zenstackList({ take: 20, skip: 20 * (pick % 20) })),
  filter: (pick) =>
    get(
      zenstackList({
        where: { published: true, score: { lte: score(pick) } },
        orderBy: [{ score: 'desc' }, { id: 'asc' }],
        take: 20,
      }),
    ),
  join: (pick) => get(zenstackList({ where: { author: { username: user(pick) } }, take: 20 })),
  deepPage: (pick) => get(zenstackList({ take: 20, skip: 20 * (deepPage(pick) - 1) })),
  item: (pick) => get(zenstackPath('findUnique', { where: { id: 1 + scatter(pick, noteCount) } })),
  create: (pick) => send('POST', '/model/note/create', { data: createdNote(pick) }),
  update: (pick) =>
    send('PUT', '/model/note/update', { where: { id: 1 + scatter(pick, noteCount) }, data: changedNote(pick) }),
  list500: (pick) => get(zenstackList({ take: 500, skip: 500 * (pick % 10) })),
}

function zenstackList(query: object): string {
  return zenstackPath('findMany', { orderBy: { id: 'asc' }, ...query })
}

function zenstackPath(operation: string, query: object): string {
  return `/model/note/${operation}?q=${encodeURIComponent(JSON.stringify(query))}`
}
