import { type Reply, type SendOptions, send } from '../client'
import { nestedEntities } from '../support/nested'
import { openWorld, type World } from '../world/world'

/** Bodies with related records: the lines of an invoice, their parts, and tags (specification: Nested writes). */

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: nestedEntities, mount: { limits: { nested: 16 } } })
  for (const name of ['red', 'green', 'blue', 'black']) await request('POST tag/', { body: { name } })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

const request = (line: string, options: SendOptions = {}): Promise<Reply> =>
  send(world.url, line.replace(' ', ' /api/'), options)

interface Shown {
  readonly id: number
  readonly lines: readonly { readonly id: number; readonly text: string; readonly parts: readonly { id: number }[] }[]
}

/** Creates an invoice with three lines, whose keys are returned. */
async function create(body: object = {}): Promise<{ readonly id: number; readonly lines: readonly number[] }> {
  const lines = ['a', 'b', 'c'].map((text, index) => ({ text, position: index + 1 }))
  const reply = await request('POST invoice/?include=lines', { body: { title: 'new', lines, ...body } })
  expect([reply.status, reply.text]).toEqual([201, expect.any(String)])
  const shown = reply.json() as Shown
  return { id: shown.id, lines: shown.lines.map(({ id }) => id) }
}

/** The lines of an invoice as `text/position[parts]`, and the names of its tags. */
async function contents(id: number): Promise<string> {
  const reply = await request(
    `GET invoice/${id}/?include=lines(ordering:position,include:(parts,tags)),tags(ordering:name)`,
  )
  const { lines, tags } = reply.json() as {
    readonly lines: readonly {
      text: string
      position: number
      parts: readonly { name: string }[]
      tags: readonly { name: string }[]
    }[]
    readonly tags: readonly { name: string }[]
  }
  const names = (records: readonly { name: string }[]): string => records.map(({ name }) => name).join('+')
  const shown = lines.map(({ text, position, parts, tags: own }) =>
    [
      `${text}/${position}`,
      ...(parts.length > 0 ? [`[${names(parts)}]`] : []),
      ...own.map(({ name }) => `#${name}`),
    ].join(''),
  )
  return `${shown.join(' ')} | ${names(tags)}`
}

describe('POST', () => {
  test('creates the records in their order, with those of the second level and links', async () => {
    const reply = await request('POST invoice/?include=lines(ordering:id,include:(parts)),tags', {
      body: {
        title: 'one',
        lines: [
          { text: 'a', position: 2, parts: [{ name: 'p' }, { name: 'q' }] },
          { text: 'b', position: 1, secret: 'x', tag_ids: [3] },
        ],
        tag_ids: [2, 1, 2],
      },
    })
    const { id, lines } = reply.json() as Shown
    const [first, second] = lines.map((line) => line.id)
    expect([reply.status, reply.headers.location, reply.json()]).toEqual([
      201,
      `/api/invoice/${id}/`,
      {
        id,
        title: 'one',
        lines: [
          {
            id: first,
            text: 'a',
            position: 2,
            created: 'fixed',
            invoice_id: id,
            parts: [
              { id: expect.any(Number), name: 'p', line_id: first },
              { id: expect.any(Number), name: 'q', line_id: first },
            ],
            parts_next: '',
          },
          { id: second, text: 'b', position: 1, created: 'fixed', invoice_id: id, parts: [], parts_next: '' },
        ],
        lines_next: '',
        tags: [
          { id: 1, name: 'red' },
          { id: 2, name: 'green' },
        ],
        tags_next: '',
      },
    ])
    expect(Number(first)).toBeLessThan(Number(second))
    expect(await world.sql(`SELECT "secret" FROM "line" WHERE "id" = ${second}`)).toEqual([{ secret: 'x' }])
    expect(await contents(id)).toBe('b/1#blue a/2[p+q] | green+red')
  })

  test('the ETag is that of the record', async () => {
    const reply = await request('POST invoice/', { body: { title: 'tagged', lines: [{ text: 'a', position: 1 }] } })
    const { id } = reply.json() as Shown
    expect((await request(`GET invoice/${id}/`)).headers.etag).toBe(reply.headers.etag)
  })

  test('a member with an empty array writes nothing', async () => {
    expect(await contents((await create({ lines: [], tag_ids: [] })).id)).toBe(' | ')
  })
})

describe('PUT and PATCH', () => {
  const all = 'a/1 b/2 c/3 | red'
  test.each<[string, (ids: readonly number[]) => object, string, string]>([
    ['without a member', () => ({ title: 'other' }), all, all],
    [
      'a record with an id is changed, others are created',
      ([, b]) => ({
        lines: [
          { id: b, text: 'B' },
          { text: 'n', position: 9 },
        ],
      }),
      'B/2 n/9 | red',
      'a/1 B/2 c/3 n/9 | red',
    ],
    ['the order in the body has no meaning', ([a, b, c]) => ({ lines: [{ id: c }, { id: a }, { id: b }] }), all, all],
    ['an empty array', () => ({ lines: [] }), ' | red', all],
    ['keys', () => ({ tag_ids: [2, 3] }), 'a/1 b/2 c/3 | blue+green', 'a/1 b/2 c/3 | blue+green'],
    ['no keys', () => ({ tag_ids: [] }), 'a/1 b/2 c/3 | ', 'a/1 b/2 c/3 | '],
    [
      'the second level',
      ([a]) => ({ lines: [{ id: a, parts: [{ name: 'p' }], tag_ids: [1, 2] }] }),
      'a/1[p]#red#green | red',
      'a/1[p]#red#green b/2 c/3 | red',
    ],
    [
      // Unique values are free when those of deleted records are.
      'a new record may have the unique values of one that is deleted',
      ([, b, c]) => ({ lines: [{ text: 'n', position: 1 }, { id: b }, { id: c }] }),
      'n/1 b/2 c/3 | red',
      '409',
    ],
  ])('%s', async (_, bodyOf, afterPut, afterPatch) => {
    for (const [method, expected] of [
      ['PUT', afterPut],
      ['PATCH', afterPatch],
    ] as const) {
      const { id, lines } = await create({ tag_ids: [1] })
      const reply = await request(`${method} invoice/${id}/`, { body: bodyOf(lines) })
      expect([method, reply.status === 200 ? await contents(id) : String(reply.status)]).toEqual([method, expected])
    }
  })

  test('records of the second level are changed, created and deleted like those of the first', async () => {
    const lines = [{ text: 'a', position: 1, parts: [{ name: 'p' }, { name: 'q' }] }]
    const { id } = await create({ lines })
    const read = await request(`GET invoice/${id}/?include=lines(include:(parts))`)
    const [line] = (read.json() as Shown).lines
    const [p] = line?.parts ?? []
    const body = { lines: [{ id: line?.id, parts: [{ id: p?.id, name: 'P' }, { name: 'r' }] }] }
    expect((await request(`PATCH invoice/${id}/`, { body })).status).toBe(200)
    expect(await contents(id)).toBe('a/1[P+q+r] | ')
    const kept = { lines: [{ id: line?.id, parts: [{ id: p?.id }] }] }
    expect((await request(`PUT invoice/${id}/`, { body: kept })).status).toBe(200)
    expect(await contents(id)).toBe('a/1[P] | ')
  })

  test('a body as it was read writes nothing', async () => {
    const { id } = await create({ tag_ids: [1] })
    const read = await request(`GET invoice/${id}/?include=lines(count:exact,include:(parts))`)
    world.statements()
    const reply = await request(`PUT invoice/${id}/`, { body: read.json() })
    expect([reply.status, reply.json()]).toEqual([200, { id, title: 'new' }])
    expect(world.statements().filter((sql) => /^ ?(INSERT|UPDATE|DELETE)/.test(sql))).toEqual([])
    expect(await contents(id)).toBe('a/1 b/2 c/3 | red')
  })

  test('an incomplete list is refused with PUT, and accepted with PATCH', async () => {
    const { id } = await create()
    const body = (await request(`GET invoice/${id}/?include=lines(limit:2)`)).json()
    const put = await request(`PUT invoice/${id}/`, { body })
    expect([put.status, put.json()]).toEqual([
      400,
      expect.objectContaining({
        errors: [
          {
            field: 'lines_next',
            message: 'must be empty: lines is not complete, and the rest would be deleted; use PATCH',
          },
        ],
      }),
    ])
    expect((await request(`PATCH invoice/${id}/`, { body })).status).toBe(200)
    expect(await contents(id)).toBe('a/1 b/2 c/3 | ')
  })

  test('the other side of a many-to-many relation can be written too, under the name of the option', async () => {
    const [one, other] = [await create(), await create({ tag_ids: [4] })]
    expect((await request('PUT tag/4/', { body: { in_invoices: [one.id] } })).status).toBe(200)
    expect([await contents(one.id), await contents(other.id)]).toEqual(['a/1 b/2 c/3 | black', 'a/1 b/2 c/3 | '])
  })

  test('If-Match is compared with the ETag of the record', async () => {
    const { id } = await create()
    const tag = (await request(`GET invoice/${id}/`)).headers.etag ?? ''
    const send2 = (value: string): Promise<Reply> =>
      request(`PUT invoice/${id}/`, { body: { lines: [] }, headers: { 'If-Match': value } })
    expect([(await send2('"other"')).status, await contents(id)]).toEqual([412, 'a/1 b/2 c/3 | '])
    expect([(await send2(tag)).status, await contents(id)]).toEqual([200, ' | '])
  })

  test('a missing record is 404', async () => {
    expect((await request('PUT invoice/99999/', { body: { lines: [] } })).status).toBe(404)
  })
})

describe('errors', () => {
  test('all errors of a body are in one response, with their paths', async () => {
    const [{ id, lines }, other] = [await create(), await create()]
    const reply = await request(`PUT invoice/${id}/`, {
      body: {
        title: 5,
        lines: [
          { id: lines[0], text: 'too long' },
          { id: other.lines[0], text: 'x' },
          { id: 99999 },
          { id: lines[1], position: 'x', parts: [{ name: 5 }, 'p', { nope: 1 }], tag_ids: [99] },
          { id: lines[1] },
          { id: 'x' },
          { text: 'n', position: 1, invoice_id: other.id },
          { id: lines[2], invoice_id: other.id, created: 'now' },
        ],
        tag_ids: [1, 'x', 99],
      },
    })
    const errors = (reply.json() as { errors: readonly { field: string; message: string }[] }).errors
    expect([reply.status, errors.map(({ field }) => field).toSorted()]).toEqual([
      400,
      [
        'lines[0].text',
        'lines[1].id',
        'lines[2].id',
        'lines[3].parts[0].name',
        'lines[3].parts[1]',
        'lines[3].parts[2].name',
        'lines[3].parts[2].nope',
        'lines[3].position',
        'lines[3].tag_ids[0]',
        'lines[4].id',
        'lines[5].id',
        'lines[6].invoice_id',
        'lines[7].created',
        'lines[7].invoice_id',
        'tag_ids[1]',
        'tag_ids[2]',
        'title',
      ],
    ])
    // The line of another invoice is like one that does not exist.
    expect(new Set(errors.filter(({ field }) => /lines\[[12]]/.test(field)).map(({ message }) => message)).size).toBe(1)
    expect(reply.text).not.toContain('secret')
    expect(await contents(id)).toBe('a/1 b/2 c/3 | ')
  })

  const line = { text: 'n', position: 9 }
  test.each<[string, object, readonly (readonly [field: string, message: RegExp])[]]>([
    ['an object in place of an array', { lines: {} }, [['lines', /must be an array of objects/]]],
    ['null in place of an array', { lines: null }, [['lines', /must be an array of objects/]]],
    ['null in place of keys', { tag_ids: null }, [['tag_ids', /must be an array of ids/]]],
    ['records in place of keys', { tags: [{ id: 1 }] }, [['tags', /is written as tag_ids, an array of ids/]]],
    ['a null in a list', { lines: [null] }, [['lines[0]', /must be an object/]]],
    ['a null among keys', { tag_ids: [null] }, [['tag_ids[0]', /must be an integer/]]],
    [
      'a third level',
      { lines: [{ ...line, parts: [{ name: 'p', screws: [] }] }] },
      [['lines[0].parts[0].screws', /too deeply/]],
    ],
    [
      'an id in a new record',
      { lines: [{ ...line, parts: [{ id: 1, name: 'p' }] }] },
      [['lines[0].parts[0].id', /read-only/]],
    ],
    ['the id null', { lines: [{ ...line, id: null }] }, [['lines[0].id', /must be an integer/]]],
    [
      'a missing field',
      { lines: [{}] },
      [
        ['lines[0].position', /is required/],
        ['lines[0].text', /is required/],
      ],
    ],
    ['an unknown field', { lines: [{ ...line, nope: 1 }] }, [['lines[0].nope', /is not a field of line/]]],
    ['a relation with a wrong name', { tags_ids: [1] }, [['tags_ids', /; related records: lines, .*tag_ids/]]],
    [
      'the record of a foreign key',
      { lines: [{ ...line, invoice: { id: 1 } }] },
      [['lines[0].invoice', /is written as invoice_id/]],
    ],
    ['another path of the last page', { lines: [], lines_next: 5 }, [['lines_next', /must be empty/]]],
  ])('%s is 400', async (_, body, expected) => {
    const { id } = await create()
    const reply = await request(`PUT invoice/${id}/`, { body })
    const { errors } = reply.json() as { errors: readonly { readonly field: string }[] }
    // The order of missing fields is that of the columns, which depends on the leg.
    expect([reply.status, errors.toSorted((a, b) => a.field.localeCompare(b.field))]).toEqual([
      400,
      expected.map(([field, message]) => ({ field, message: expect.stringMatching(message) })),
    ])
    expect(await contents(id)).toBe('a/1 b/2 c/3 | ')
  })

  test.each<[string, (id: number) => object, number]>([
    ['its own', (id) => ({ lines: [{ ...line, invoice_id: id }] }), 200],
    ['that of another', (id) => ({ lines: [{ ...line, invoice_id: id - 1 }] }), 400],
    ['null', () => ({ lines: [{ ...line, invoice_id: null }] }), 400],
  ])('a foreign key to the parent: %s', async (_, bodyOf, status) => {
    await create()
    const { id } = await create()
    expect((await request(`PATCH invoice/${id}/`, { body: bodyOf(id) })).status).toBe(status)
  })

  test('a new parent has no key that a body could contain', async () => {
    const { id } = await create()
    const reply = await request('POST invoice/', { body: { title: 'n', lines: [{ ...line, invoice_id: id }] } })
    const errors = [{ field: 'lines[0].invoice_id', message: 'must be left out: it refers to the new invoice' }]
    expect([reply.status, reply.json()]).toEqual([400, expect.objectContaining({ errors })])
  })

  test('a constraint of the database is reported with the path of the record, and nothing is written', async () => {
    const { id, lines } = await create()
    const created = await request(`PATCH invoice/${id}/`, {
      body: {
        title: 'no',
        lines: [
          { text: 'x', position: 8 },
          { text: 'y', position: 9 },
          { text: 'z', position: 9 },
        ],
      },
    })
    expect([created.status, created.text]).toEqual([409, expect.stringContaining('"field":"lines[2]')])
    const changed = await request(`PATCH invoice/${id}/`, {
      body: {
        title: 'no',
        lines: [
          { id: lines[0], text: 'A' },
          { id: lines[1], position: 1 },
        ],
      },
    })
    expect([changed.status, changed.text]).toEqual([409, expect.stringContaining('"field":"lines[1]')])
    expect([await contents(id), (await request(`GET invoice/${id}/`)).json()]).toEqual([
      'a/1 b/2 c/3 | ',
      { id, title: 'new' },
    ])
  })

  test('a record to which others refer is not deleted', async () => {
    const { id } = await create({ lines: [{ text: 'a', position: 1, parts: [{ name: 'p' }] }] })
    const read = await request(`GET invoice/${id}/?include=lines(include:(parts))`)
    const [{ id: line1 = 0, parts = [] } = {}] = (read.json() as Shown).lines
    await request('POST screw/', { body: { part_id: parts[0]?.id } })
    const reply = await request(`PUT invoice/${id}/`, { body: { title: 'no', lines: [{ id: line1, parts: [] }] } })
    expect([reply.status, reply.json()]).toEqual([
      409,
      expect.objectContaining({ detail: 'lines[0].parts: this part cannot be deleted: other records refer to it' }),
    ])
    expect(await contents(id)).toBe('a/1[p] | ')
  })
})

describe('limits', () => {
  const linesOf = (count: number): readonly object[] =>
    Array.from({ length: count }, (_, index) => ({ text: 'n', position: index + 1 }))

  test.each([
    ['lines', { lines: linesOf(17) }],
    ['two levels', { lines: [{ text: 'n', position: 1, parts: Array(16).fill({ name: 'p' }) }] }],
    ['lines and keys', { lines: linesOf(8), tag_ids: Array(9).fill(1) }],
  ])('too many related records in a body: %s', async (_, body) => {
    const reply = await request('POST invoice/', { body: { title: 'n', ...body } })
    expect([reply.status, reply.json()]).toEqual([
      400,
      expect.objectContaining({ detail: 'the body has more than 16 related records' }),
    ])
  })

  test('too many stored records are 409 with PUT, and no problem with PATCH', async () => {
    const { id } = await create({ lines: linesOf(16) })
    await request('POST line/', { body: { text: 'n', position: 17, invoice_id: id } })
    const put = await request(`PUT invoice/${id}/`, { body: { lines: [] } })
    expect([put.status, put.text]).toEqual([409, expect.stringContaining('more than 16 related line records')])
    expect((await request(`PATCH invoice/${id}/`, { body: { lines: [{ text: 'n', position: 18 }] } })).status).toBe(200)
  })
})

test('the number of statements does not depend on the number of records', async () => {
  const count = async (line: string, body: object): Promise<number> => {
    await request(line, { body })
    world.statements()
    expect((await request(line, { body })).status).toBeLessThan(300)
    return world.statements().length
  }
  const lines = (length: number): readonly object[] =>
    Array.from({ length }, (_, index) => ({ text: 'n', position: index + 1 }))
  const few = await count('POST invoice/', { title: 'n', lines: lines(2), tag_ids: [1, 2] })
  expect(await count('POST invoice/', { title: 'n', lines: lines(8), tag_ids: [1, 2, 3, 4] })).toBe(few)
  const { id } = await create()
  const replaced = await count(`PUT invoice/${id}/`, { lines: lines(2) })
  expect(await count(`PUT invoice/${id}/`, { lines: lines(8) })).toBe(replaced)
})

test('an array of records has no related records', async () => {
  const reply = await request('POST tag/', { body: [{ in_invoices: [] }] })
  const message = 'in_invoices cannot be written here: only with a single record, not in arrays and files'
  expect([reply.status, reply.text]).toEqual([400, expect.stringContaining(message)])
})

test('a resource without the option has no related records in bodies', async () => {
  const reply = await request('POST part/', { body: { name: 'p', line_id: 1, line: {}, parts: [] } })
  expect([reply.status, reply.text]).toEqual([400, expect.stringContaining('parts is not a field of part')])
})

test('the OpenAPI document names the relation of a list of keys, and the fields that the key of the parent determines', async () => {
  const { components } = (await request('GET openapi.json')).json() as {
    readonly components: { readonly schemas: Readonly<Record<string, { readonly properties: object }>> }
  }
  expect(components.schemas['tag.update']?.properties).toMatchObject({
    in_invoices: { 'x-resource': 'invoice', 'x-relation': 'invoices' },
  })
  expect(components.schemas['invoice.update']?.properties).toMatchObject({
    lines: { 'x-parent-key': ['invoice_id'] },
    tag_ids: { 'x-resource': 'tag', 'x-relation': 'tags' },
  })
})
