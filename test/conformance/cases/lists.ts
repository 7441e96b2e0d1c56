import { each, type Scenario } from '../case'

const all = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]

const refused = (request: string, field: string, ...detailParts: readonly string[]) => ({
  request: `GET /api/note/?${request}`,
  status: 400,
  errorFields: [field],
  detailParts,
})

export const listScenarios: readonly Scenario[] = [
  ...each('Collection envelope', [
    {
      request: 'GET /api/language/',
      status: 200,
      json: {
        meta: { model: 'language', page: 1, next: '', previous: '' },
        objects: [
          { id: 'eng', code: 'eng', name: 'English' },
          { id: 'fra', code: 'fra', name: 'French' },
        ],
      },
    },
    {
      request: 'GET /api/word/',
      status: 200,
      json: { meta: { model: 'word', page: 1, next: '', previous: '' }, objects: [] },
    },
  ]),
  ...each('Links: next and previous keep the other parameters in their order, then limit, then page', [
    {
      request: 'GET /api/note/?limit=4',
      status: 200,
      ids: [1, 2, 3, 4],
      has: { meta: { page: 1, next: '/api/note/?limit=4&page=2', previous: '' } },
    },
    {
      request: 'GET /api/note/?limit=4&page=2',
      status: 200,
      ids: [5, 6, 7, 8],
      has: { meta: { page: 2, next: '/api/note/?limit=4&page=3', previous: '/api/note/?limit=4&page=1' } },
    },
    {
      request: 'GET /api/note/?page=3&limit=4',
      status: 200,
      ids: [9, 10],
      has: { meta: { page: 3, next: '', previous: '/api/note/?limit=4&page=2' } },
    },
    { request: 'GET /api/note/?limit=5&page=2', status: 200, ids: [6, 7, 8, 9, 10], has: { meta: { next: '' } } },
    {
      request: 'GET /api/note/?page=1&published=true&limit=4&ordering=-id&score__gte=0',
      status: 200,
      ids: [10, 8, 6, 4],
      has: { meta: { next: '/api/note/?published=true&ordering=-id&score__gte=0&limit=4&page=2' } },
    },
    {
      request: 'GET /api/note/?published=true&limit=4',
      status: 200,
      has: { meta: { next: '/api/note/?published=true&limit=4&page=2' } },
    },
    {
      request: 'GET /api/note/?title__ilike=%25%C3%A9%25&limit=1',
      status: 200,
      ids: [5],
      has: { meta: { next: '/api/note/?title__ilike=%25%C3%A9%25&limit=1&page=2' } },
    },
  ]),
  ...each('Unknown parameters: limit and page', [
    { request: 'GET /api/note/?limit=1000', status: 200, ids: all },
    {
      request: 'GET /api/note/?page=50',
      status: 200,
      ids: [],
      has: { meta: { page: 50, next: '', previous: '/api/note/?limit=20&page=49' } },
    },
    refused('limit=0', 'limit', 'from 1 to 1000'),
    refused('limit=1001', 'limit', 'from 1 to 1000'),
    refused('limit=-1', 'limit'),
    refused('limit=1.5', 'limit'),
    refused('limit=1e9', 'limit'),
    refused('limit=', 'limit'),
    refused('limit=%205', 'limit'),
    refused('limit=5%0d%0aX:', 'limit'),
    refused('limit=5&limit=6', 'limit', 'given twice'),
    refused('page=0', 'page'),
    refused('page=1e21', 'page'),
    refused('page=50001', 'page', 'filters'),
    { request: 'GET /api/note/?limit=0&page=0&nope=1', status: 400, errorFields: ['limit', 'page', 'nope'] },
  ]),
  ...each('Ordering', [
    { request: 'GET /api/note/?title__in=alpha,gamma,delta&ordering=title', status: 200, ids: [1, 4, 3] },
    { request: 'GET /api/note/?ordering=-created&limit=3', status: 200, ids: [10, 9, 8] },
    { request: 'GET /api/note/?ordering=score,-title&limit=5', status: 200, ids: [5, 6, 7, 2, 3] },
    { request: 'GET /api/note/?ordering=published,-score', status: 200, ids: [9, 3, 7, 5, 10, 8, 4, 1, 2, 6] },
    { request: 'GET /api/note/?ordering=author,-id&limit=4', status: 200, ids: [10, 7, 3, 1] },
    { request: 'GET /api/note/?ordering=-author_id&limit=3', status: 200, ids: [5, 6, 2] },
    { request: 'GET /api/note/?ordering=-big&limit=1', status: 200, ids: [10] },
    refused('ordering=nope', 'ordering', 'nope', 'fields: id, ', 'title'),
    refused('ordering=', 'ordering'),
    refused('ordering=score,', 'ordering'),
    refused('ordering=--score', 'ordering'),
    refused('ordering=+score', 'ordering'),
    refused('ordering=author__nothing', 'ordering'),
    refused('ordering=author__password', 'ordering'),
    refused('ordering=extra', 'ordering', 'cannot sort'),
    refused('ordering=secret', 'ordering', '"secret", which is not a field of note'),
    refused('ordering=picture', 'ordering'),
    refused('ordering=score&ordering=id', 'ordering', 'given twice'),
  ]),
  ...each('Ordering: the order is total', [
    { request: 'GET /api/note/?ordering=score', status: 200, ids: [5, 6, 7, 2, 1, 3, 4, 8, 9, 10] },
    { request: 'GET /api/note/?ordering=-score', status: 200, ids: [10, 8, 9, 4, 1, 3, 2, 7, 6, 5] },
    { request: 'GET /api/note/?ordering=-id&limit=2', status: 200, ids: [10, 9] },
    { request: 'GET /api/note/?ordering=score,-score,id&limit=2', status: 200, ids: [5, 6] },
  ]),
]
