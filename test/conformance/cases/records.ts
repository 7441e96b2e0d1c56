import { each, loginRequired, type Scenario } from '../case'
import { fullNote } from './full-note'

export const recordScenarios: readonly Scenario[] = [
  ...each('Record representation', [
    {
      request: 'GET /api/note/10/',
      status: 200,
      json: fullNote,
      responseHeaders: { 'Content-Type': 'application/json; charset=utf-8' },
    },
    { request: 'GET /api/note/1/', status: 200, has: { created: '2024-01-01 10:20:30', body: null, parent_id: null } },
    { request: 'GET /api/language/eng/', status: 200, json: { id: 'eng', code: 'eng', name: 'English' } },
  ]),
  ...each('Hidden fields: excluded fields are in no response', [
    {
      request: 'GET /api/user/2/',
      as: 'ann',
      status: 200,
      json: { id: 2, username: 'bob', admin: false, active: true },
    },
    {
      request: 'GET /api/user/?limit=1',
      as: 'ann',
      status: 200,
      has: { objects: [{ id: 1, username: 'ann', admin: true, active: true }] },
    },
  ]),
  ...each('Paths: the response is the same without the final slash', [
    { request: 'GET /api/note/10', status: 200, json: fullNote },
    { request: 'GET /api/note', status: 200, ids: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10] },
    { request: 'GET /api/note?limit=1', status: 200, ids: [1], has: { meta: { next: '/api/note/?limit=1&page=2' } } },
  ]),
  ...each('Paths: a path that names no resource does not belong to the service', [
    { request: 'GET /api/nothing/', status: 404, text: 'Not Found' },
    { request: 'POST /api/', status: 404, text: 'Not Found' },
    { request: 'GET /', status: 404, text: 'Not Found' },
    { request: 'GET /api/Note/', status: 404, text: 'Not Found' },
    { request: 'GET /API/note/', status: 404, text: 'Not Found' },
    { request: 'GET /api/vault/', status: 404, text: 'Not Found' },
    { request: 'GET /api/languageword/', status: 404, text: 'Not Found' },
    { request: 'GET /api/note/1/author/', status: 404, text: 'Not Found' },
  ]),
  ...each('Order of checks: a record that does not exist', [
    { request: 'GET /api/note/99/', status: 404, detailParts: ['no note'] },
    { request: 'PUT /api/note/99/', as: 'ann', body: {}, status: 404 },
    { request: 'DELETE /api/note/99/', as: 'ann', status: 404 },
    { request: 'GET /api/language/xyz/', status: 404 },
    { request: 'GET /api/word/not-a-uuid/', status: 404 },
  ]),
  ...each('Methods: HEAD responds as GET, without a body', [
    {
      request: 'HEAD /api/note/10/',
      status: 200,
      text: '',
      responseHeaders: { 'Content-Type': 'application/json; charset=utf-8' },
    },
    { request: 'HEAD /api/note/', status: 200, text: '' },
    { request: 'HEAD /api/note/99/', status: 404, text: '' },
    { request: 'HEAD /api/user/', status: 401, text: '' },
  ]),
  ...each('Methods: OPTIONS responds with the allowed methods', [
    { request: 'OPTIONS /api/note/', status: 204, text: '', responseHeaders: { Allow: 'GET, HEAD, OPTIONS, POST' } },
    {
      request: 'OPTIONS /api/note/1/',
      status: 204,
      responseHeaders: { Allow: 'GET, HEAD, OPTIONS, PUT, PATCH, DELETE' },
    },
    { request: 'OPTIONS /api/language/', status: 204, responseHeaders: { Allow: 'GET, HEAD, OPTIONS' } },
  ]),
  ...each('Order of checks: a method that the path does not support', [
    {
      request: 'PUT /api/note/',
      as: 'ann',
      body: {},
      status: 405,
      responseHeaders: { Allow: 'GET, HEAD, OPTIONS, POST' },
    },
    { request: 'DELETE /api/note/', as: 'ann', status: 405 },
    {
      request: 'POST /api/note/1/',
      as: 'ann',
      body: '{',
      status: 405,
      responseHeaders: { Allow: 'GET, HEAD, OPTIONS, PUT, PATCH, DELETE' },
    },
    { request: 'PROPFIND /api/note/', as: 'ann', status: 405 },
    { request: 'PROPFIND /api/note/', ...loginRequired },
  ]),
]
