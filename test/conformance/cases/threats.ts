import { gzipSync } from 'node:zlib'
import { each, loginRequired, type Scenario, type Step } from '../case'

const repeat = (count: number, text: string): string => Array.from({ length: count }, () => text).join('&')
const post = (body: unknown, status: number, errorFields?: readonly string[]): Step => ({
  request: 'POST /api/note/',
  as: 'bob',
  body,
  status,
  ...(errorFields && { errorFields }),
})
const note = { title: 'x', author_id: 2 }
const raw = (json: string | Buffer, status: number, headers: Record<string, string> = {}): Step => ({
  request: 'POST /api/note/',
  as: 'bob',
  headers: { 'Content-Type': 'application/json', ...headers },
  body: json,
  status,
})
const login = (credentials: string | Buffer): Step => ({
  request: 'GET /api/message/',
  headers: { Authorization: `Basic ${Buffer.from(credentials).toString('base64')}` },
  ...loginRequired,
})
const query = (text: string, status = 400): Step => ({ request: `GET /api/note/?${text}`, status })

/** Attacks that are known from other web services, in addition to the cases of the other tables. */
export const threatScenarios: readonly Scenario[] = [
  ...each(
    'hostile paths',
    [
      '/API/note/',
      '/api/Note/',
      '/api/note/%2e%2e/user/',
      '/api/toString/',
      '/api/hasOwnProperty/',
      '/api/note/1/2/',
    ].map((path): Step => ({ request: `GET ${path}`, status: 404 })),
  ),
  ...each('hostile methods', [
    { request: 'TRACE /api/note/1/', status: 401 },
    { request: 'PROPFIND /api/note/', as: 'bob', status: 405 },
    { request: 'HEAD /api/message/', status: 401, text: '' },
    { request: 'HEAD /api/note/99/', status: 404, text: '' },
    { request: 'HEAD /api/note/?nope=1', status: 400, text: '' },
    { request: 'OPTIONS /api/message/', status: 401 },
    {
      request: 'POST /api/message/1/',
      as: 'ann',
      headers: { 'X-HTTP-Method-Override': 'DELETE' },
      status: 405,
      responseHeaders: { Allow: 'GET, HEAD, OPTIONS, PUT, PATCH, DELETE' },
    },
  ]),
  ...each('hostile credentials', [
    ...[
      'bob',
      ':',
      'bob:',
      ':bob',
      'bob\0:bob',
      'bob:bob\0',
      'BOB:bob',
      'Bob:bob',
      'bób:bob',
      'bob :bob',
      ' bob:bob',
    ].map(login),
    login('zoe:Zoë'),
    login('Zoé:Zoë'),
    login(Buffer.from([0x62, 0xff, 0x3a, 0x62])),
    login(`bob:${'x'.repeat(9000)}`),
    ...['Basic', 'Basic =', 'Basic Ym9iOmJvYg==, Basic Ym9iOmJvYg==', 'Bearer Ym9iOmJvYg==', 'Basic Ym9i!Om=='].map(
      (Authorization): Step => ({ request: 'GET /api/message/', headers: { Authorization }, ...loginRequired }),
    ),
    { request: 'GET /api/message/', as: 'Zoë', status: 200 },
  ]),
  ...each('hostile queries', [
    query(`${repeat(1499, 'score=5')}&score=99`),
    query(`id__in=${repeat(1, Array.from({ length: 70_000 }, () => '1').join('%2C')).slice(0, 12_000)}`),
    query(`score__in=${Array.from({ length: 501 }, () => '1').join()}`),
    query(repeat(1100, 'score=5').slice(0, 8000)),
    query(`${'parent__'.repeat(15)}id=1`),
    query(`title__like=${'%25'.repeat(257)}`),
    query(`title__like=${'x'.repeat(200)}&body__like=${'x'.repeat(200)}&title__ilike=${'x'.repeat(200)}`),
    ...['limit=1.5', 'limit=-1', 'limit=1e9', 'limit=0', 'limit=', 'limit=%201', 'limit=5%0d%0aX:', 'limit=1001'].map(
      (one) => query(one),
    ),
    ...['page=1e21', 'page=0', 'page=-1', 'page=1.0', 'page=99999999999', 'page=50001&limit=20'].map((one) =>
      query(one),
    ),
    ...['title__like=x%5C', 'title__ilike=%5C%5C%5C', 'title=%ff', 'title=%', 'title=%ED%A0%80', 'title=%00'].map(
      (one) => query(one),
    ),
    ...[
      '__proto__=1',
      'constructor=1',
      '__proto__[a]=1',
      'title[]=x',
      'title[$ne]=x',
      'title__regexp=x',
      'toString=1',
    ].map((one) => query(one)),
    ...[
      'secret=x',
      'secret__is=null',
      'ordering=secret',
      'author__password__like=%25',
      'author__email=x',
      'vault__code=x',
    ].map((one) => query(one)),
    { request: 'GET /api/note/?title=a\\b', status: 200, ids: [] },
  ]),
  ...each('hostile values', [
    post({ ...note, author: { id: 2, admin: true } }, 400, ['author']),
    post({ ...note, authorId: 1 }, 400, ['authorId']),
    post({ ...note, id: 1 }, 400, ['id']),
    post({ ...note, author_id: [2] }, 400, ['author_id']),
    post({ ...note, title: ['x'] }, 400, ['title']),
    post({ ...note, title: { toString: 'x' } }, 400, ['title']),
    post({ ...note, title: 'a\0b' }, 400, ['title']),
    post({ ...note, score: 2 ** 53 }, 400, ['score']),
    post({ ...note, published: 'false' }, 400, ['published']),
    post({ ...note, published: 1 }, 400, ['published']),
    post({ ...note, score: '5' }, 400, ['score']),
    post({ ...note, day: '2024-02-30' }, 400, ['day']),
    post({ ...note, created: '+275760-09-13T00:00:00Z' }, 400, ['created']),
    post([note], 400),
    post('null', 415),
    raw('{"title":"x","author_id":2,"score":1e400}', 400),
    raw('{"title":"\\ud800","author_id":2}', 400),
    raw('{"title":"x","author_id":2,"__proto__":{"score":9}}', 400),
    raw('{"title":"x","author_id":2,"constructor":{"prototype":{}}}', 400),
    raw('{"title":"x","author_id":2} {}', 400),
    raw(`{"title":"x","author_id":2,"extra":${'['.repeat(500_000)}${']'.repeat(500_000)}}`, 400),
    raw(`{"title":${'['.repeat(500_000)}${']'.repeat(500_000)},"author_id":2}`, 400),
    raw('['.repeat(500_000), 400),
    raw(Buffer.concat([Buffer.from('{"title":"'), Buffer.from([0xc3, 0x28]), Buffer.from('"}')]), 400),
    raw(gzipSync(Buffer.alloc(20_000_000, ' ')), 415, { 'Content-Encoding': 'gzip' }),
    raw('{}', 415, { 'Content-Encoding': 'br' }),
    raw(JSON.stringify(note), 415, { 'Content-Encoding': 'identity, gzip' }),
    raw(' '.repeat(1_048_577), 413),
  ]),
  ...each('the access rule is checked before body and record are read', [
    { request: 'PUT /api/message/1/', body: '{', headers: { 'Content-Type': 'application/json' }, ...loginRequired },
    { request: 'PUT /api/message/99/', body: '{}', ...loginRequired },
    { request: 'POST /api/language/', body: ' '.repeat(2_000_000), ...loginRequired },
    { request: 'DELETE /api/user/1/', as: 'bob', ...loginRequired },
  ]),
]
