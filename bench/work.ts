/** The kinds of requests that are measured. */
export const works = [
  'list',
  'filter',
  'join',
  'deepPage',
  'firstKeyset',
  'deepKeyset',
  'item',
  'create',
  'update',
  'list500',
  'signedIn',
  'refused',
] as const
export type Work = (typeof works)[number]

/** A request of the benchmark. */
export interface BenchRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH'
  readonly path: string
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Requests to `ours` that are compared with other requests to `ours`, in the same rounds. */
export const comparedWith: Readonly<Partial<Record<Work, Work>>> = {
  signedIn: 'list',
  refused: 'list',
  deepKeyset: 'firstKeyset',
}

/** The requests of an implementation, varied by a number from 0. Those that it does not support are missing. */
export type Requests = Readonly<Partial<Record<Work, (pick: number) => BenchRequest>>>

/** Numbers of records. */
export const userCount = 1000
export const noteCount = Number(process.env['BENCH_NOTES'] ?? 100_000)
export const highestScore = 10_000
/** Password of every user. */
export const password = 'correct horse'

export const get = (path: string, headers = {}): BenchRequest => ({ method: 'GET', path, headers })
export const send = (
  method: BenchRequest['method'],
  path: string,
  values: Readonly<Record<string, unknown>>,
): BenchRequest => ({
  method,
  path,
  body: JSON.stringify(values),
  // A new object for each request: autocannon adds the Content-Length to the headers of requests that it sets up.
  headers: { 'content-type': 'application/json' },
})
/** Pseudo-random number from 0 to `count` - 1. 7919 is a prime number. */
export const scatter = (pick: number, count: number): number => (pick * 7919) % count

/** Values of a new note, varied by a number. */
export const newNote = (pick: number): Readonly<Record<string, unknown>> => ({
  title: `New note ${pick}`,
  body: 'Text of a new note, about as long as the text of the notes that are already in the table of the notes.',
  score: scatter(pick, highestScore),
  published: pick % 2 === 0,
  author_id: 1 + scatter(pick, userCount),
})

/** Values of an update, varied by a number. */
export const changedNote = (pick: number): Readonly<Record<string, unknown>> => ({
  title: `Changed note ${pick}`,
  score: scatter(pick, highestScore),
})

/** Number of a page of 20 with a large OFFSET. */
export const deepPage = (pick: number): number => Math.floor(noteCount * 0.8) / 20 + (pick % 20)

/** Requests of the service that the hand-written servers support too. */
export const plainRequests: Requests = {
  list: (pick) => get(`/api/note/?limit=20&page=${1 + (pick % 20)}`),
  filter: (pick) => get(`/api/note/?published=true&score__lte=${scatter(pick, highestScore)}&ordering=-score`),
  join: (pick) => get(`/api/note/?author__username=user${1 + scatter(pick, userCount)}`),
  deepPage: (pick) => get(`/api/note/?limit=20&page=${deepPage(pick)}`),
  item: (pick) => get(`/api/note/${1 + scatter(pick, noteCount)}/`),
  create: (pick) => send('POST', '/api/note/', newNote(pick)),
  update: (pick) => send('PUT', `/api/note/${1 + scatter(pick, noteCount)}/`, changedNote(pick)),
  list500: (pick) => get(`/api/note/?limit=500&page=${1 + (pick % 10)}`),
}

/** All requests of the service. */
export const ownRequests: Requests = {
  ...plainRequests,
  firstKeyset: () => get('/api/note/?limit=20&after='),
  // measure.ts sends the `next` links of these pages.
  deepKeyset: (pick) => get(`/api/note/?limit=20&page=${noteCount / 20 - 100 + (pick % 50)}&after=`),
  signedIn: (pick) =>
    get(`/signed/note/?limit=20&page=${1 + (pick % 20)}`, {
      authorization: `Basic ${Buffer.from(`user${1 + (pick % 50)}:${password}`).toString('base64')}`,
    }),
  refused: () => get('/api/note/?scoer__lte=5&ordering=-score'),
}
