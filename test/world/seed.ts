/** The data set of the conformance suite, as plain rows. The password of each user is the username. */
export const users = [
  { id: 1, username: 'ann', email: 'ann@example.org', admin: true, active: true },
  { id: 2, username: 'bob', email: 'bob@example.org', admin: false, active: true },
  { id: 3, username: 'carl', email: 'carl@example.org', admin: false, active: false },
  { id: 4, username: 'dora', email: null, admin: false, active: true, passwordless: true },
  { id: 5, username: 'Zoë', email: 'zoe@example.org', admin: false, active: true },
] as const

export const vaults = [{ id: 1, code: 'tresor-5f1d' }] as const

/** Hidden values, which no response may contain. */
export const canaries = ['canary-0a1b', 'tresor-5f1d', '@example.org', '$argon2'] as const

/** Lists the hidden values that a text contains. All responses and error events of the tests are checked with it. */
export function canariesIn(text: string): string {
  return canaries.filter((canary) => text.includes(canary)).join()
}

export const notes = [
  {
    id: 1,
    title: 'alpha',
    score: 5,
    published: true,
    author: 1,
    created: '2024-01-01 10:20:30.512',
    day: '2024-01-01',
  },
  { id: 2, title: 'Beta', score: 3, published: true, author: 2, created: '2024-01-01 10:20:31.000', parent: 1 },
  { id: 3, title: 'gamma', score: 5, published: false, author: 1, created: '2024-01-02 00:00:00.000', parent: 2 },
  { id: 4, title: 'delta', score: 8, published: true, author: 2, created: '2024-02-29 23:59:59.999', rank: 1 },
  { id: 5, title: 'épée', score: -2, published: false, author: 5, created: '2024-03-01 00:00:00.001', rank: 2 },
  { id: 6, title: 'ÉPÉE', score: 0, published: true, author: 5, created: '2024-03-01 00:00:00.000', body: 'long' },
  { id: 7, title: '100% a_b*?[c]', score: 1, published: false, author: 1, created: '2023-12-31 23:59:59.000' },
  { id: 8, title: 'a,b', score: 9, published: true, author: 2, created: '2024-05-05 05:05:05.000', status: 'final' },
  { id: 9, title: 'x"y', score: 9, published: false, author: 2, created: '2024-05-05 05:05:06.000', weight: 1.5 },
  {
    id: 10,
    title: 'full',
    body: 'everything',
    score: 10,
    rank: -3,
    published: true,
    weight: 0.25,
    price: '12.50',
    big: '9007199254740993',
    day: '2024-02-29',
    at: '10:20:30',
    status: 'final',
    extra: { a: [1, { b: null }] },
    tags: ['x', 'y'],
    created: '2024-06-01 12:00:00.000',
    secret: 'canary-0a1b',
    author: 1,
    parent: 4,
    vault: 1,
  },
] as const

export const messages = [
  { id: 1, message: 'hello', user: 1, note: 1, created: '2024-01-01 00:00:00', stamp: 'one' },
  { id: 2, message: 'hi', user: 2, note: 4, created: '2024-01-02 00:00:00', stamp: null },
  { id: 3, message: 'bye', user: 2, note: null, created: '2024-01-03 00:00:00', stamp: null },
] as const

export const languages = [
  { code: 'eng', name: 'English' },
  { code: 'fra', name: 'French' },
] as const
