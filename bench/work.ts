/** What is asked of the contestants. */
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

/** One request as it is sent. */
export interface BenchRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH'
  readonly path: string
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Work of ours that is compared with other work of ours, in the same rounds. */
export const comparedWith: Readonly<Partial<Record<Work, Work>>> = {
  signedIn: 'list',
  refused: 'list',
  deepKeyset: 'firstKeyset',
}

/** The requests of one API, each varied by a number from 0. What it cannot do is left out. */
export type Requests = Readonly<Partial<Record<Work, (pick: number) => BenchRequest>>>

/** What the data are made of. */
export const userCount = 1000
export const noteCount = Number(process.env['BENCH_NOTES'] ?? 100_000)
export const highestScore = 10_000
/** Of every user. */
export const password = 'correct horse'

const json = { 'content-type': 'application/json' }
export const get = (path: string, headers = {}): BenchRequest => ({ method: 'GET', path, headers })
export const send = (
  method: BenchRequest['method'],
  path: string,
  values: Readonly<Record<string, unknown>>,
): BenchRequest => ({ method, path, body: JSON.stringify(values), headers: json })
/** Numbers that follow each other in no order: 7919 is a prime. */
export const scatter = (pick: number, count: number): number => (pick * 7919) % count

/** A note to create, varied by a number. */
export const newNote = (pick: number): Readonly<Record<string, unknown>> => ({
  title: `Written by pick ${pick}`,
  body: 'A few words that nobody will read, as long as the others are, so that a create costs what it costs.',
  score: scatter(pick, highestScore),
  published: pick % 2 === 0,
  author_id: 1 + scatter(pick, userCount),
})

export const changedNote = (pick: number): Readonly<Record<string, unknown>> => ({
  title: `Changed by pick ${pick}`,
  score: scatter(pick, highestScore),
})

/** Pages of 20, far behind. */
export const deepPage = (pick: number): number => Math.floor(noteCount * 0.8) / 20 + (pick % 20)

/** The requests of this project's own API that the hand-written servers answer too. */
export const plainRequests: Requests = {
  list: (pick) => get(`/api/note/?limit=20&page=${1 + (pick % 20)}`),
  filter: (pick) => get(`/api/note/?published=true&score__lte=${scatter(pick, highestScore)}&ordering=-score`),
  join: (pick) => get(`/api/note/?author__username=user${1 + scatter(pick, userCount)}`),
  deepPage: (pick) => get(`/api/note/?limit=20&page=${Math.floor(noteCount * 0.8) / 20 + (pick % 20)}`),
  item: (pick) => get(`/api/note/${1 + scatter(pick, noteCount)}/`),
  create: (pick) => ({ method: 'POST', path: '/api/note/', body: JSON.stringify(newNote(pick)), headers: json }),
  update: (pick) => ({
    method: 'PUT',
    path: `/api/note/${1 + scatter(pick, noteCount)}/`,
    body: JSON.stringify({ title: `Changed by pick ${pick}`, score: scatter(pick, highestScore) }),
    headers: json,
  }),
  list500: (pick) => get(`/api/note/?limit=500&page=${1 + (pick % 10)}`),
}

export const ownRequests: Requests = {
  ...plainRequests,
  firstKeyset: () => get('/api/note/?limit=20&after='),
  // By the links that lead on from there: measure.ts.
  deepKeyset: (pick) => get(`/api/note/?limit=20&page=${noteCount / 20 - 100 + (pick % 50)}&after=`),
  signedIn: (pick) =>
    get(`/signed/note/?limit=20&page=${1 + (pick % 20)}`, {
      authorization: `Basic ${Buffer.from(`user${1 + (pick % 50)}:${password}`).toString('base64')}`,
    }),
  refused: () => get('/api/note/?scoer__lte=5&ordering=-score'),
}
