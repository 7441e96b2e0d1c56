import { each, type Scenario, type Step } from '../case'

const notOurs = { status: 404, text: 'Not Found' } as const
const query = (text: string, ...says: readonly string[]): Step => ({
  request: `GET /api/note/?${text}`,
  status: 400,
  says,
})
const repeat = (count: number, text: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => text(index)).join('&')

export const hostileScenarios: readonly Scenario[] = [
  ...each('only the canonical path and the one without the last slash are ours', [
    { request: 'GET /api/note//', ...notOurs },
    { request: 'GET //api/note/', ...notOurs },
    { request: 'GET /api//note/', ...notOurs },
    { request: 'GET /api/%6eote/', ...notOurs },
    { request: 'GET /api/x/../note/', ...notOurs },
    { request: 'GET /api/note/1//', ...notOurs },
    { request: 'GET /api/constructor/', ...notOurs },
    { request: 'GET /api/__proto__/', ...notOurs },
    { request: 'GET /api/note;x/', ...notOurs },
    { request: 'GET /api/note/;x', status: 404 },
    { request: 'GET /api/note/..', status: 404 },
    { request: 'GET /api/note/1%2F..%2F2/', status: 404 },
    { request: 'GET /api/note/constructor/', status: 404 },
  ]),
  ...each('an id is checked before any SQL', [
    ...[
      '1abc',
      '1.0',
      '1e0',
      '%201',
      '1%20',
      '01',
      '-1',
      '0',
      '+1',
      '%31',
      '0x1',
      '1,2',
      '1;',
      "1'",
      '9999999999999999999',
      '99999999999999999999',
      '%00',
      '%ff',
      '%',
    ].flatMap((id): readonly Step[] => [
      { request: `GET /api/note/${id}/`, status: 404 },
      { request: `PUT /api/note/${id}/`, as: 'ann', body: { title: 'taken' }, status: 404 },
      { request: `DELETE /api/note/${id}/`, as: 'ann', status: 404 },
    ]),
    { request: 'GET /api/language/%65ng/', status: 200, has: { id: 'eng' } },
    { request: 'GET /api/language/ENG/', status: 404 },
    { request: 'GET /api/language/%00/', status: 404 },
    { request: 'GET /api/language/%ff/', status: 404 },
    { request: 'GET /api/language/eng%2F/', status: 404 },
  ]),
  ...each('limits of a query', [
    query(`${repeat(1_500, (index) => `limit=${index}`)}&id=1`, 'at most 50 parameters', '1501'),
    query(
      repeat(31, () => 'score=1'),
      'at most 30 filters',
      '31',
    ),
    query(`${'x'.repeat(129)}=1`, '128 characters'),
    { ...query(`ordering=${','.repeat(2047)}`), faults: Array.from({ length: 20 }, () => 'ordering') },
    query(`price=${'0'.repeat(2047)}x`, 'decimal'),
    query(`title=${'x'.repeat(2049)}`, 'title may have 2048 characters, it has 2049'),
    query(`author${'__author'.repeat(14)}=1`, 'author, which is not a field of user'),
    query(`${'parent__'.repeat(5)}id=1`, 'at most 4'),
  ]),
  ...each('SQL stays data', [
    { request: "GET /api/note/?title=';DROP%20TABLE%20note;--", status: 200, ids: [] },
    { request: "GET /api/note/?title__like=%25'%20OR%201=1--", status: 200, ids: [] },
    { request: 'GET /api/note/?title=:p0', status: 200, ids: [] },
    { request: 'GET /api/note/?title=%3Ap1&score=5', status: 200, ids: [] },
    { request: 'GET /api/note/?title=$1&score=5', status: 200, ids: [] },
    { request: 'GET /api/note/?title=t0.title', status: 200, ids: [] },
    query('ordering=id;DROP TABLE note'.replaceAll(' ', '%20'), 'not a field'),
    query('ordering=(SELECT%20password)', 'not a field'),
    query('title;--=1', 'not a field'),
  ]),
]
