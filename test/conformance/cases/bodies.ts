import type { SendOptions } from '../../client'
import { type Scenario, type Step, scenario } from '../case'

const form = 'application/x-www-form-urlencoded'
const json = '{"title":"é + & = %","author_id":2}'

const multipart = (...parts: readonly string[]): SendOptions => ({
  headers: { 'Content-Type': 'multipart/form-data; boundary=limit' },
  body: `${parts.map((part) => `--limit\r\nContent-Disposition: form-data; ${part}\r\n`).join('')}--limit--\r\n`,
})
const typed = (type: string, body: string | Buffer): SendOptions => ({ headers: { 'Content-Type': type }, body })

/** Ways to send a JSON object, which all create the same record and make the same change. */
const accepted: readonly (readonly [string, SendOptions])[] = [
  ['as the raw body', typed('application/json', json)],
  ['with a charset', typed('application/json; charset=UTF-8', json)],
  ['with a vendor type', typed('application/vnd.site+json', json)],
  ['with a byte order mark', typed('application/json', `\ufeff${json}`)],
  ['in the field data of a form', typed(form, `data=${encodeURIComponent(json)}`)],
  ['in the field data, together with other fields', typed(form, `_method=DELETE&data=${encodeURIComponent(json)}`)],
  ['in the field data of a multipart form', multipart(`name="data"\r\n\r\n${json}`)],
  ['with the content type of a form, as curl -d sends it', typed(form, json)],
  ['with the content type of a form and surrounding blanks', typed(form, `\n ${json} \n`)],
  ['with the content type of a form, as curl --data-urlencode sends it', typed(form, encodeURIComponent(json))],
]

const refused: readonly (readonly [string, SendOptions, number, string])[] = [
  ['nothing', typed('application/json', ''), 400, 'empty'],
  ['blanks', typed('application/json', '  '), 400, 'empty'],
  ['nothing, as curl -d sends it', typed(form, ''), 400, 'empty'],
  ['truncated JSON', typed('application/json', '{"title":'), 400, 'not JSON'],
  ['text after the JSON', typed('application/json', `${json}x`), 400, 'not JSON'],
  ['single quotes', typed('application/json', "{'title':'x'}"), 400, 'not JSON'],
  ['NaN', typed('application/json', '{"weight":NaN}'), 400, 'not JSON'],
  ['an array', typed('application/json', '[]'), 400, 'one JSON object'],
  ['a text', typed('application/json', '"x"'), 400, 'one JSON object'],
  ['null', typed('application/json', 'null'), 400, 'one JSON object'],
  ['500,000 brackets', typed('application/json', '['.repeat(500_000)), 400, 'more than 20000 values'],
  ['20,000 brackets', typed('application/json', '['.repeat(20_000)), 400, 'not JSON'],
  [
    '20,000 opening and closing brackets',
    typed('application/json', '['.repeat(20_000) + ']'.repeat(20_000)),
    400,
    'one JSON object',
  ],
  ['bytes that are not UTF-8', typed('application/json', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d])), 400, 'UTF-8'],
  ['a form without data', typed(form, 'title=x'), 400, '"data"'],
  ['a form with data twice', typed(form, 'data={}&data={}'), 400, '"data"'],
  ['a form whose data is not JSON', typed(form, 'data=x'), 400, 'not JSON'],
  ['a form that is not UTF-8', typed(form, 'data=%ff'), 400, 'UTF-8'],
  ['a multipart form without data', multipart('name="other"\r\n\r\n{}'), 400, '"data"'],
  ['a multipart form with data as a file', multipart('name="data"; filename="x"\r\n\r\n{}'), 400, '"data"'],
  [
    'a multipart form that is not UTF-8',
    {
      headers: { 'Content-Type': 'multipart/form-data; boundary=limit' },
      body: Buffer.from(
        '--limit\r\nContent-Disposition: form-data; name="data"\r\n\r\n{"title":"\xff"}\r\n--limit--\r\n',
        'latin1',
      ),
    },
    400,
    'UTF-8',
  ],
  ['a multipart form without boundary', typed('multipart/form-data', json), 400, 'boundary'],
  ['a truncated multipart form', typed('multipart/form-data; boundary=limit', '--limit\r\n'), 400, 'boundary'],
  ['text', typed('text/plain', json), 415, 'application/json'],
  ['XML', typed('application/xml', '<title/>'), 415, 'application/json'],
  ['no content type', { headers: {}, body: json }, 415, 'application/json'],
  ['no body and no content type', { headers: {} }, 400, 'the body is empty'],
  ['another charset', typed('application/json; charset=latin1', json), 415, 'UTF-8'],
  [
    'a gzipped body',
    { headers: { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' }, body: json },
    415,
    'gzip',
  ],
  ['a megabyte and a byte', typed('application/json', ' '.repeat(1_048_577)), 413, '1048576'],
]

const made = { title: 'é + & = %', author_id: 2, score: 0 }

export const bodyScenarios: readonly Scenario[] = [
  ...accepted.map(([how, body]) =>
    scenario(
      `Bodies: a body ${how}`,
      { request: 'POST /api/note/', as: 'bob', ...withLogin(body), status: 201, has: made },
      { request: 'PUT /api/note/{id}/', as: 'bob', ...withLogin(body), status: 200, has: made },
      { request: 'DELETE /api/note/{id}/', as: 'bob', status: 204, text: '' },
    ),
  ),
  ...refused.map(([what, body, status, words]): Scenario => {
    const step = (request: string): Step => ({ request, as: 'bob', ...withLogin(body), status, detailParts: [words] })
    // Checked before the record is looked up (specification: Order of checks).
    return scenario(`Order of checks, Bodies: a body of ${what}`, step('POST /api/note/'), step('PUT /api/note/99/'))
  }),
]

function withLogin({ headers = {}, body }: SendOptions): SendOptions {
  return { headers, body }
}
