import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { Readable } from 'node:stream'
import { setTimeout } from 'node:timers/promises'
import type { Context } from 'koa'
import { Column, Entity, PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm'
import { IdempotencyKey, Resource, type Rule } from 'typeorm-resources'
import { basic, send } from '../client'
import { openWorld, type World, type WorldOptions } from '../world/world'

/** The commands `export` and `import`, as packages install them, with a service. */

const accepted = new Set([basic('änn', 's:cret'), 'Bearer ann-token', 'ApiKey ak_1'])
const rule: Rule = ({ context }) => (accepted.has(context.get('Authorization')) ? { id: 1 } : null)

@Entity()
@Resource({ auth: rule, bulk: true, formats: true })
class Item {
  @PrimaryColumn({ length: 20 }) code!: string
  @Column({ type: 'varchar', length: 100, nullable: true }) remark!: string | null
  @Column({ type: 'date', nullable: true }) day!: string | null
  @Column({ type: 'datetime', nullable: true }) at!: Date | null
  @Column({ type: 'decimal', precision: 8, scale: 2, nullable: true }) price!: string | null
  @Column({ type: 'bigint', nullable: true }) big!: string | null
  @Column({ type: 'boolean', nullable: true }) paid!: boolean | null
  @Column({ type: 'simple-json', nullable: true }) extra!: unknown
}

@Entity()
@Resource({ auth: rule, bulk: true, formats: true })
class Entry {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'varchar', length: 20, unique: true, nullable: true }) number!: string | null
  @Column({ type: 'integer' }) minutes!: number
  @Column({ type: 'varchar', length: 1000, default: '' }) note!: string
}

@Entity()
@Resource({ auth: rule, formats: true })
class Pair {
  @PrimaryColumn({ type: 'integer' }) one!: number
  @PrimaryColumn({ type: 'integer' }) other!: number
  @Column({ length: 1000 }) note!: string
}

@Entity()
@Resource({ auth: rule, bulk: true, may: { create: false } })
class Closed {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'integer' }) minutes!: number
}

const asAnn = { headers: { Authorization: 'Bearer ann-token' } }
const entities = [Item, Entry, Pair, Closed]
/** Handles a request instead of the service, if it returns true. */
let intercept: (context: Context, next: () => Promise<void>) => Promise<void> = (_, next) => next()
/** Requests that have been received. */
const requests: string[] = []
let world: World
let folder: string

const open = (own: NonNullable<WorldOptions['entities']>): Promise<World> =>
  openWorld({
    entities: own,
    mount: { limits: { importBytes: 100_000 } },
    before: (app) =>
      app.use(async (context, next) => {
        requests.push(`${context.method} ${context.url.replace('/api', '')}`)
        await intercept(context, next)
      }),
  })
beforeAll(async () => {
  world = await open([...entities, IdempotencyKey])
})
afterAll(async () => {
  await world.close()
  // Koa reports a connection that is closed within a chunked body.
  expect(world.faults.filter((fault) => Object(fault).code !== 'HPE_INVALID_EOF_STATE')).toEqual([])
})
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'transfer-'))
  for (const table of ['item', 'entry', 'pair']) await world.sql(`DELETE FROM "${table}"`)
  intercept = (_, next) => next()
  requests.length = 0
})
afterEach(() => {
  rmSync(folder, { recursive: true })
})

interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

const command = resolve(__dirname, '../../dist/cli/main.js')
let child: ChildProcess
/** Runs the command in the folder. @param line words separated by spaces; `URL` is the URL of the mount */
function run(
  line: string,
  { env = { TOKEN: 'ann-token' }, input = '', isOpen = false, preloaded = [] }: RunOptions = {},
): Promise<Ended> {
  const words = line.split(' ').map((word) => word.replace(/^URL/, `${world.url}/api`))
  const variables = Object.entries(env).map(([name, value]) => [`TYPEORM_RESOURCES_${name}`, value])
  child = spawn('node', [...preloaded.flatMap((file) => ['--require', file]), command, ...words], {
    cwd: folder,
    env: { PATH: process.env['PATH'], ...Object.fromEntries(variables) },
  })
  // The command may end before it has read everything.
  child.stdin?.on('error', () => {}).write(input)
  if (!isOpen) child.stdin?.end()
  const texts = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.setEncoding('utf8').on('data', (text: string) => {
      texts[name] += text
    })
  }
  return new Promise((done) => child.on('close', (code) => done({ code, ...texts })))
}
interface RunOptions {
  readonly env?: Readonly<Record<string, string>>
  readonly input?: string
  /** Whether the standard input stays open. */
  readonly isOpen?: boolean
  /** Modules that are loaded before the command. */
  readonly preloaded?: readonly string[]
}

const write = (file: string, text: string): void => writeFileSync(join(folder, file), text)
const read = (file: string): string => readFileSync(join(folder, file), 'utf8')
const files = (): readonly string[] => readdirSync(folder).toSorted()
const lines = (records: readonly object[]): string => records.map((record) => `${JSON.stringify(record)}\n`).join('')
const count = async (table: string): Promise<number> =>
  Number((await world.sql(`SELECT COUNT(*) AS "n" FROM "${table}"`))[0]?.['n'])
const stored = (): Promise<readonly object[]> => world.sql('SELECT * FROM "item" ORDER BY "code"')
/** Entries with line breaks and quotes, in both formats. */
const entries = (length: number, first = 0): readonly { number: string; minutes: number; note: string }[] =>
  Array.from({ length }, (_, index) => ({ number: `n${first + index}`, minutes: index, note: `two\n"lines" ${index}` }))
const csv = (records: ReturnType<typeof entries>): string =>
  `number,minutes,note\n${records.map(({ number, minutes, note }) => `${number},${minutes},"${note.replaceAll('"', '""')}"\n`).join('')}`
const entryFile = (file: string, length: number): void =>
  write(file, file.endsWith('csv') ? csv(entries(length)) : lines(entries(length)))

describe('a file that was exported can be imported, with equal records', () => {
  const items = [
    {
      code: 'a',
      remark: 'two\nlines, "quoted"\r\nÄ 東京 🙂',
      day: '2024-02-29',
      at: '2024-02-29 10:20:30',
      price: '-12.50',
      big: '9007199254740993',
      paid: true,
      extra: { list: [1, null, 'x,y'], deep: { text: 'a\nb' } },
    },
    { code: 'b "c", d', remark: "it's", price: '0.10', big: 7, paid: false, extra: ['"'] },
    { code: '=ß' },
  ]
  test.each(['ndjson', 'csv'])('%s', async (format) => {
    write('items.ndjson', lines(items))
    expect((await run('import item items.ndjson --url URL')).stderr).toMatch(/^3 records imported in \d+\.\d s\n$/)
    const before = await stored()
    const exported = await run(`export item copy.${format} --url URL`)
    expect([exported.code, exported.stdout, exported.stderr]).toEqual([
      0,
      '',
      expect.stringMatching(/^3 records exported to copy\.\w+ in \d+\.\d s\n$/),
    ])
    expect(files()).toEqual([`copy.${format}`, 'items.ndjson'])
    await world.sql('DELETE FROM "item"')
    expect((await run(`import item copy.${format} --url URL/ --omit id`)).stderr).toMatch(
      /^3 records imported in \d+\.\d s\n$/,
    )
    expect(await stored()).toEqual(before)
    // Through pipes.
    const output = await run(`export item - --format ${format} --url URL`)
    expect([output.code, output.stdout]).toEqual([0, read(`copy.${format}`)])
    await world.sql('DELETE FROM "item"')
    const input = await run(`import item - --format ${format} --url URL --omit id`, { input: output.stdout })
    expect([input.code, input.stdout]).toEqual([0, ''])
    expect(await stored()).toEqual(before)
  })
})

test('an export has the records and fields of the query', async () => {
  await world.dataSource.getRepository(Entry).save([...entries(5)])
  await run('export entry entries.csv --url URL --query fields=minutes&minutes__gte=2&ordering=-minutes&limit=2')
  expect(read('entries.csv')).toMatch(/^id,minutes\r\n\d+,4\r\n\d+,3\r\n$/)
})

test.each<readonly [Readonly<Record<string, string>>, number, string]>([
  [{ USERNAME: 'änn', PASSWORD: 's:cret' }, 0, '0 records exported'],
  [{ TOKEN: 'ann-token' }, 0, '0 records exported'],
  [{ API_KEY: 'ak_1' }, 0, '0 records exported'],
  [{}, 1, '401: Authentication failed\nSet TYPEORM_RESOURCES_USERNAME and TYPEORM_RESOURCES_PASSWORD, TYPEORM_RE'],
  [{ TOKEN: 'wrong' }, 1, '401: Authentication failed\nThe service does not accept the credentials'],
  [{ TOKEN: 'a', API_KEY: 'b' }, 2, 'TYPEORM_RESOURCES_TOKEN, TYPEORM_RESOURCES_API_KEY cannot be used: only one'],
  [{ TOKEN: 'a b' }, 2, 'must consist of ASCII characters'],
])('credentials: %j', async (env, code, message) => {
  expect(await run('export entry - --format csv --url URL', { env })).toMatchObject({
    code,
    stderr: expect.stringContaining(message),
  })
})

test.each([
  ['export', 'The name of the resource is missing\n\nUsage:'],
  ['export entry', 'The file is missing\n\nUsage:'],
  ['export entry a.csv b.csv', 'Unexpected argument "b.csv"'],
  ['export entry a.csv', '--url is missing'],
  ['export entry a.csv --url localhost:3000', '--url must be the URL of the mount'],
  ['export entry a.csv --url http://ann:secret@localhost/', '--url must not contain credentials'],
  ['export entry a.txt --url URL', 'a.txt does not say the format: use the extension .csv or .ndjson, or --format'],
  ['export entry - --url URL --format xml', 'The format "xml" is not supported'],
  [
    'export entry a.csv --url URL --batch-size 5',
    'export has no option --batch-size; options: --url, --format, --query',
  ],
  ['openapi a.js --url URL', 'openapi has no option --url; options: --options, --output, --check'],
  ['import entry a.csv --url URL --query a=b', 'import has no option --query'],
  ['import entry a.csv --url URL --batch-size 0', '--batch-size must be a number from 1'],
  ['import entry - --format csv --url URL --batch-size 5', '--batch-size needs a file'],
])('typeorm-resources %s is wrong usage', async (line, message) => {
  expect(await run(line)).toEqual({ code: 2, stdout: '', stderr: expect.stringContaining(message) })
  expect(requests).toEqual([])
})

const badLines = lines([{ minutes: 1 }, { minutes: 2 }, { minutes: 'x' }, { minutes: 4, nope: 1 }])
const failing: readonly (readonly [line: string, contents: string, message: string])[] = [
  [
    'import entry a.ndjson --url URL',
    badLines,
    'line 3: minutes must be an integer|line 4: nope is not a field|Nothing was imported.',
  ],
  [
    'import entry a.ndjson --url URL --batch-size 2',
    badLines,
    'line 3: minutes must be|line 4: nope is not|2 records imported, up to line 2. Run',
  ],
  [
    'import entry a.ndjson --url URL --batch-size 2 --dry-run',
    badLines,
    'line 3: minutes must be|Nothing was imported.',
  ],
  [
    'import entry a.csv --url URL --batch-size 2',
    `minutes,note\n1,"a\nb"\n\n2,b\n"3x",c\n4,"d\ne"\n`,
    'line 6: minutes must be|2 records imported, up to line 5.',
  ],
  [
    'import entry a.csv --url URL --batch-size 2',
    'minutes,note\n1,a\n2,b\n3\n',
    '400: the number of cells in line 4 must be 2, as in the first line, not 1|2 records',
  ],
  [
    'import entry a.csv --url URL --batch-size 1',
    'minutes,nope\n1,a\n2,b\n',
    'line 1: nope is not a field|Nothing was imported.',
  ],
  [
    'import entry a.ndjson --url URL --batch-size 1',
    '{"minutes":1}\n\n{"minutes":\n',
    '400: line 3 is not JSON|1 record imported, up to line 1.',
  ],
  [
    'import entry a.csv --url URL --on-conflict minutes',
    'minutes\n1\n',
    '400: on_conflict must be the fields of a unique constraint',
  ],
  ['import closed a.csv --url URL', 'minutes\n1\n', '403: you may not create this closed'],
  [
    'import entry a.csv --url URL',
    `minutes\n${'1\n'.repeat(60_000)}`,
    '413: an import may have at most 100000 bytes|Send fewer records at a time, with --batch-size.|Nothing was',
  ],
  ['import nothing a.csv --url URL', '', '404: Not Found|There is no resource at http|check --url'],
  ['import pair a.csv --url URL', 'one\n1\n', '415: |The resource needs the option "bulk".'],
  ['import entry b.csv --url URL', '', 'There is no file b.csv'],
  ['import entry . --format csv --url URL', '', '. is a directory'],
  ['export closed a.csv --url URL', '', 'is not available as csv: the resource needs the option "formats"'],
  ['export nothing a.csv --url URL', '', '404: Not Found|There is no resource at http'],
  ['export entry a.csv --url URL --query nope=1', '', '400: nope is not a field of entry'],
  ['export entry no/a.csv --url URL', '', 'no such file or directory'],
  [
    'export entry a.csv --url http://127.0.0.1:9999/api',
    '',
    'The service at http://127.0.0.1:9999 cannot be reached (ECONNREFUSED): check --url',
  ],
]
test.each(failing.map(([line, contents, message]) => [line, message, contents] as const))(
  'typeorm-resources %s fails: %s',
  async (line, message, contents) => {
    write(/a\.\w+/.exec(line)?.[0] ?? 'a', contents)
    const { code, stdout, stderr } = await run(line)
    expect([code, stdout]).toEqual([1, ''])
    for (const part of message.split('|')) expect(stderr).toContain(part)
    expect(stderr).not.toMatch(/^ +at /m)
  },
)

test.each<readonly [options: string, message: RegExp, records: number]>([
  ['--dry-run', /^5 records checked, none imported, in/, 2],
  ['--dry-run --on-conflict number', /^5 records checked, none imported, in/, 2],
  ['--dry-run --batch-size 2', /^5 records checked, none imported, in/, 2],
  ['--on-conflict number', /^3 records created and 2 updated in/, 5],
  ['--on-conflict number --batch-size 2', /^3 records created and 2 updated in/, 5],
])('import with %s', async (options, message, records) => {
  const own = options.startsWith('--dry-run --on') || options.startsWith('--on') ? 0 : 10
  await world.dataSource.getRepository(Entry).save([...entries(2, own)])
  entryFile('a.csv', 5)
  expect(await run(`import entry a.csv --url URL ${options}`)).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(message),
  })
  expect([await count('entry'), files()]).toEqual([records, ['a.csv']])
})

test.each(
  ['csv', 'ndjson'].flatMap((format) => ['', '--batch-size 2', '--dry-run'].map((options) => [format, options])),
)('import of %s with a misspelt name after --omit, %s: nothing is imported', async (format, options) => {
  entryFile(`a.${format}`, 3)
  const line = `import entry a.${format} --url URL --omit number,Minutes ${options}`.trim()
  expect(await run(line)).toEqual({
    code: 2,
    stdout: '',
    stderr: expect.stringMatching(
      /^--omit names "Minutes", which the file does not have; its fields: number, minutes.*\nNothing was imported\.\n$/,
    ),
  })
  expect([await count('entry'), files()]).toEqual([0, [`a.${format}`]])
})

describe.each(['', ' --batch-size 2', ' --omit note', ' --omit note --batch-size 1'])(
  'an import of CSV%s',
  (options) => {
    test.each([
      ['\r', 'carriage returns'],
      ['\r\n', 'both'],
    ])('has the records between line breaks %j: %s', async (lineBreak) => {
      write('a.csv', ['number,minutes,note', 'n1,1,x', 'n2,2,"a\r\nb\rc"', 'n3,3,x', ''].join(lineBreak))
      const { code, stderr } = await run(`import entry a.csv --url URL${options}`)
      expect([code, stderr]).toEqual([0, expect.stringMatching(/^3 records imported in/)])
      expect(await count('entry')).toBe(3)
      write('a.csv', ['number,minutes,note', 'n4,4,x', 'n5,x,x'].join(lineBreak))
      const wrong = await run(`import entry a.csv --url URL${options}`)
      expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringMatching(/^line 3: minutes must be/)])
    })
  },
)

test.each(['', ' --batch-size 2'])('a line of CSV that has only a space is a record%s', async (options) => {
  write('a.csv', 'code\nA\n\nB\n \n\n')
  const { code, stderr } = await run(`import item a.csv --url URL${options}`)
  expect([code, stderr]).toEqual([0, expect.stringMatching(/^3 records imported in/)])
  expect(await stored()).toMatchObject([{ code: ' ' }, { code: 'A' }, { code: 'B' }])
})

test('a number that JSON cannot represent is refused, also in a record without an omitted field', async () => {
  write('a.ndjson', '{"gone":1,"code":"a","extra":{"size":1e400}}\n{"gone":2,"code":"b"}\n')
  const { code, stderr } = await run('import item a.ndjson --url URL --omit gone')
  expect([code, stderr]).toEqual([1, expect.stringContaining('line 1: extra must be JSON')])
  expect(await count('item')).toBe(0)
})

test.each<readonly [name: string, file: string, content: string | Buffer, code: number, message: RegExp]>([
  ['a byte that is not UTF-8', 'ndjson', Buffer.from('{"code":"\xfc","gone":1}\n', 'latin1'), 1, /not UTF-8/],
  ['a byte order mark', 'ndjson', '\ufeff{"code":"a","gone":1}\n{"code":"b","gone":2}', 0, /^2 records imported/],
  ['no record', 'ndjson', '', 0, /^0 records imported/],
  ['no record but a byte order mark', 'ndjson', '\ufeff', 0, /^0 records imported/],
  ['a record of 66 kB', 'ndjson', `{"code":"a","gone":1,"extra":"${'x'.repeat(66_000)}"}\n`, 0, /^1 record imported/],
  ['an empty cell in the only column that is left', 'csv', 'gone,code\n1,a\n2,\n', 1, /^line 3: code/],
  ['right quotes', 'csv', '\ufeff"code",gone\n"a""",""""\n"""b","5"" pipe"\n', 0, /^2 records imported/],
  ['a quote without an end', 'csv', 'code,gone\na,"""\n', 1, /Quote Not Closed|Invalid Closing Quote/],
  ['a wrong quote', 'csv', 'code,gone\na,5" pipe\nb,\n', 1, /Invalid Opening Quote/],
  ['a wrong quote and a right one', 'csv', 'code,gone\na,5" pipe\nb,"x"\nc,"y"\n', 1, /Invalid Opening Quote/],
])('import with --omit of a file with %s', async (_, format, content, expected, message) => {
  writeFileSync(join(folder, `a.${format}`), content)
  const { code, stderr } = await run(`import item a.${format} --url URL --omit gone`)
  expect([code, stderr]).toEqual([expected, expect.stringMatching(message)])
  const records = expected === 0 ? Number(/^\d+/.exec(stderr)?.[0]) : 0
  expect(await count('item')).toBe(records)
})

describe('responses with Retry-After', () => {
  test.each<readonly [options: string, status: number, after: string, sent: number, message: string]>([
    ['', 429, '0', 2, '3 records imported'],
    ['', 429, '3600', 1, '429: wait|Try again in 3600 s.|Nothing was imported.'],
    ['', 503, '0', 1, '503: wait|It is not known whether the file was imported: check whether'],
    ['--on-conflict number', 503, '0', 2, '3 records imported'],
    ['--batch-size 10', 503, '0', 2, '3 records imported'],
  ])('import %s: %i with %s', async (options, status, after, sent, message) => {
    let isFirst = true
    intercept = async (context, next) => {
      if (!isFirst) return next()
      isFirst = false
      for await (const _ of context.req);
      context.set('Retry-After', after)
      Object.assign(context, { status, body: 'wait' })
    }
    entryFile('a.ndjson', 3)
    const { stderr } = await run(`import entry a.ndjson --url URL ${options}`.trim())
    for (const part of message.split('|')) expect(stderr).toContain(part)
    expect(requests).toHaveLength(sent)
  })

  test('the number of repetitions is limited', async () => {
    intercept = async (context) => {
      context.set('Retry-After', '0')
      Object.assign(context, { status: 503, body: 'wait' })
    }
    expect(await run('export entry a.csv --url URL')).toMatchObject({ code: 1 })
    expect(requests).toHaveLength(6)
  })
})

test('a redirection is not followed', async () => {
  intercept = async (context) => context.redirect('https://example.org/api/entry/')
  const { code, stderr } = await run('export entry a.csv --url URL')
  expect([code, stderr]).toEqual([1, expect.stringContaining('redirects to another URL: use that for --url')])
})

/** Ends the connection or the process of a running command. */
type Interruption = 'closed connection' | 'SIGINT' | 'SIGKILL'
async function interrupt(by: Interruption, { req }: Context): Promise<void> {
  if (by === 'closed connection') req.socket.destroy()
  else {
    child.kill(by)
    await once(child, 'exit')
  }
}
const codes = { 'closed connection': 1, SIGINT: 130, SIGKILL: null } as const

describe('an import in parts continues after the last one that was confirmed', () => {
  // Without the field "number", only the Idempotency-Key prevents that records are created twice.
  test.each<readonly [options: string, format: string, by: Interruption, isExecuted: boolean]>([
    ['--on-conflict number', 'ndjson', 'closed connection', false],
    ['--on-conflict number', 'csv', 'SIGKILL', true],
    ['--omit number', 'csv', 'closed connection', true],
    ['--omit number', 'ndjson', 'SIGINT', true],
    ['--omit number', 'csv', 'SIGKILL', false],
  ])('%s, %s: %s, executed: %s', async (options, format, by, isExecuted) => {
    entryFile(`a.${format}`, 90)
    intercept = async (context, next) => {
      if (requests.length !== 3) return next()
      if (isExecuted) await next()
      await interrupt(by, context)
    }
    const line = `import entry a.${format} --url URL --batch-size 20 ${options}`
    const first = await run(line)
    expect(first.code).toBe(codes[by])
    if (by !== 'SIGKILL') expect(first.stderr).toContain('40 records imported, up to line')
    expect(files()).toEqual([`a.${format}`, `a.${format}.progress`])
    const second = await run(line)
    const confirmed = format === 'csv' ? 81 : 40
    expect(second).toMatchObject({ code: 0, stderr: expect.stringContaining(`Continuing after line ${confirmed}\n`) })
    expect(second.stderr).toMatch(
      options.includes('conflict') && isExecuted ? /70 records created and 20/ : /90 records/,
    )
    expect([requests.length, files()]).toEqual([6, [`a.${format}`]])
    const minutes = await world.sql('SELECT "minutes" FROM "entry" ORDER BY "minutes"')
    expect(minutes.map((row) => row['minutes'])).toEqual(entries(90).map((entry) => entry.minutes))
  })

  test('a mistake after this part can be corrected, but imported records cannot be changed', async () => {
    const good = lines(entries(4))
    write('a.ndjson', `${good}{"minutes":"x"}\n`)
    const line = 'import entry a.ndjson --url URL --batch-size 2'
    expect((await run(line)).stderr).toContain('4 records imported, up to line 4. Run the command again')
    write('a.ndjson', `${lines(entries(4, 1))}{"minutes":5}\n`)
    expect((await run(line)).stderr).toMatch(
      /^Continuing .*\na.ndjson has changed before line 4, .*delete a.ndjson.progress/,
    )
    write('a.ndjson', lines(entries(1)))
    expect((await run(line)).stderr).toContain('a.ndjson has changed before line 4')
    write('a.ndjson', `${good}{"minutes":5}`)
    expect((await run('import entry a.ndjson --url URL')).stderr).toContain('a.ndjson is imported already up to line 4')
    expect((await run(`${line} --on-conflict number`)).stderr).toContain(
      'a.ndjson.progress belongs to an import to http',
    )
    expect((await run(line)).stderr).toContain('5 records imported in')
    expect([await count('entry'), files()]).toEqual([5, ['a.ndjson']])
  })

  test.each<readonly [between: string, message: string]>([
    ['401', 'does not accept the credentials'],
    ['409', 'in use'],
    ['changed', 'The next part was sent before, with other records'],
    ['whole', 'The first part of a.ndjson may be imported already'],
  ])(
    'the first part is not created twice, if its response was lost and the next run is refused: %s',
    async (between, message) => {
      entryFile('a.ndjson', 5)
      const original = read('a.ndjson')
      const line = 'import entry a.ndjson --url URL --batch-size 2 --omit number'
      intercept = async (context, next) => {
        await next()
        await interrupt('closed connection', context)
      }
      expect((await run(line)).stderr).toContain('Run the command again to import the rest.')
      intercept = async (context, next) => {
        if (between !== '409') return next()
        Object.assign(context, { status: 409, type: 'application/problem+json' })
        context.body = { type: 'urn:typeorm-resources:idempotency-key-in-use', title: 'in use', status: 409 }
      }
      if (between === 'changed') write('a.ndjson', original.replace('"minutes":0', '"minutes":7'))
      const second = await run(between === 'whole' ? line.replace('--batch-size 2 ', '') : line, {
        env: { TOKEN: between === '401' ? 'other' : 'ann-token' },
      })
      expect(second).toMatchObject({ code: 1, stderr: expect.stringContaining(message) })
      expect(second.stderr).not.toContain('Nothing was imported')
      intercept = (_, next) => next()
      write('a.ndjson', original)
      expect(await run(line)).toMatchObject({ code: 0, stderr: expect.stringContaining('5 records imported in') })
      expect([await count('entry'), files()]).toEqual([5, ['a.ndjson']])
    },
  )

  test('without IdempotencyKey and on_conflict, no part is imported', async () => {
    const other = world
    world = await open(entities)
    entryFile('a.csv', 5)
    const { code, stderr } = await run('import entry a.csv --url URL --batch-size 2')
    expect([code, stderr]).toEqual([1, expect.stringContaining('needs --on-conflict, or the entity IdempotencyKey')])
    expect([await count('entry'), files()]).toEqual([0, ['a.csv']])
    await world.close()
    world = other
  })
})

test.each<readonly [by: Interruption, message: string, records: number]>([
  ['closed connection', 'It is not known whether the file was imported: check whether its records exist', 0],
  ['SIGINT', 'Interrupted. It is not known whether the file was imported', 3],
])('a whole import that is interrupted after the body was sent: %s', async (by, message, records) => {
  entryFile('a.ndjson', 3)
  intercept = async (context, next) => {
    if (records > 0) await next()
    else for await (const _ of context.req);
    await interrupt(by, context)
  }
  const { code, stderr } = await run('import entry a.ndjson --url URL')
  expect([code, stderr, await count('entry')]).toEqual([codes[by], expect.stringContaining(message), records])
})

describe('a second command for the same file is refused while the first one is running', () => {
  /** Runs a command, and once more when the service has received a number of requests. */
  async function runTwice(line: string, before: number): Promise<readonly [first: Ended, second: Ended | undefined]> {
    let second: Ended | undefined
    intercept = async (_, next) => {
      if (requests.length === before) second = await run(line)
      await next()
    }
    return [await run(line), second]
  }
  const refusal = {
    code: 1,
    stderr: expect.stringMatching(
      /^Another process \(\d+\) is transferring this file: wait .* If there is none, delete a\.\w+(\.part)?\.progress$/m,
    ),
  }

  test('an import in parts: no record is created twice', async () => {
    entryFile('a.ndjson', 9)
    const [first, second] = await runTwice('import entry a.ndjson --url URL --batch-size 2 --omit number', 3)
    expect(first).toMatchObject({ code: 0, stderr: expect.stringContaining('9 records imported') })
    expect(second).toMatchObject(refusal)
    expect([await count('entry'), requests.length, files()]).toEqual([9, 5, ['a.ndjson']])
  })

  /** The id of a process that has ended. */
  async function endedPid(): Promise<number | undefined> {
    const ended = spawn('true')
    await once(ended, 'exit')
    return ended.pid
  }

  test('two imports that continue at the same time: no record is created twice', async () => {
    entryFile('a.ndjson', 9)
    intercept = async (context, next) => {
      if (requests.length > 2) context.status = 400
      else await next()
    }
    const line = 'import entry a.ndjson --url URL --batch-size 2 --omit number'
    expect(await run(line)).toMatchObject({ code: 1, stderr: expect.stringContaining('4 records imported') })
    intercept = (_, next) => next()
    const preloaded = [resolve(__dirname, 'slow-rename.js')]
    const both = await Promise.all([run(line, { preloaded }), run(line, { preloaded })])
    const [first, second] = both.toSorted((one, other) => Number(one.code) - Number(other.code))
    expect(await count('entry')).toBe(9)
    expect(first).toMatchObject({ code: 0, stderr: expect.stringContaining('9 records imported') })
    expect(second).toMatchObject({ code: 1, stderr: expect.stringContaining('is transferring this file: wait') })
    expect(files()).toEqual(['a.ndjson'])
  })

  test('two exports that continue at the same time: one of them writes the file', async () => {
    await world.dataSource.getRepository(Entry).insert([...entries(9)])
    const whole = await send(world.url, 'GET /api/entry/?format=csv', asAnn)
    write('a.csv.part', whole.text.slice(0, whole.text.indexOf('\r\n', whole.text.indexOf('n3')) + 2))
    const url = `${world.url}/api/entry/`
    write('a.csv.part.progress', JSON.stringify({ url, format: 'csv', pid: await endedPid() }))
    const preloaded = [resolve(__dirname, 'slow-rename.js')]
    const line = 'export entry a.csv --url URL'
    const both = await Promise.all([run(line, { preloaded }), run(line, { preloaded })])
    const [first, second] = both.toSorted((one, other) => Number(one.code) - Number(other.code))
    expect(first).toMatchObject({ code: 0, stderr: expect.stringContaining('9 records exported') })
    expect(second).toMatchObject({ code: 1, stderr: expect.stringContaining('is transferring this file: wait') })
    expect([read('a.csv'), files()]).toEqual([whole.text, ['a.csv']])
  })

  test('an export that continues: no record is in the file twice', async () => {
    await world.dataSource.getRepository(Entry).insert([...entries(9)])
    const line = 'export entry a.csv --url URL'
    const whole = await send(world.url, 'GET /api/entry/?format=csv', asAnn)
    const end = whole.text.indexOf('\r\n', whole.text.indexOf('n3')) + 2
    write('a.csv.part', whole.text.slice(0, end))
    const url = `${world.url}/api/entry/`
    write('a.csv.part.progress', JSON.stringify({ url, format: 'csv', pid: await endedPid() }))
    requests.length = 0
    const [first, second] = await runTwice(line, 1)
    expect(first).toMatchObject({ code: 0, stderr: expect.stringContaining('9 records exported') })
    expect(second).toMatchObject(refusal)
    expect([read('a.csv'), files()]).toEqual([whole.text, ['a.csv']])
  })

  test('two exports that begin at the same time: one of them writes the file', async () => {
    await world.dataSource.getRepository(Entry).insert([...entries(9)])
    const whole = await send(world.url, 'GET /api/entry/?format=csv', asAnn)
    requests.length = 0
    let refuse = (): void => undefined
    const refused = new Promise<void>((resolve) => (refuse = resolve))
    intercept = async (context, next) => {
      while (requests.length < 2) await setTimeout(5)
      await next()
      context.res.once('close', refuse)
      context.body = Readable.from(
        (async function* () {
          yield whole.text.slice(0, 50)
          // Without a refusal, both would go on.
          await Promise.race([refused, setTimeout(10_000, undefined, { ref: false })])
          yield whole.text.slice(50)
        })(),
      )
    }
    const line = 'export entry a.csv --url URL'
    const [first, second] = (await Promise.all([run(line), run(line)])).toSorted(
      (one, other) => Number(one.code) - Number(other.code),
    )
    expect(first).toMatchObject({ code: 0, stderr: expect.stringContaining('9 records exported') })
    expect(second).toMatchObject({ code: 1, stderr: expect.stringContaining('is transferring this file: wait') })
    expect([read('a.csv'), files()]).toEqual([whole.text, ['a.csv']])
  })
})

test('a whole import that is interrupted before the body is complete imports nothing', async () => {
  intercept = async (context, next) => {
    void interrupt('SIGINT', context)
    await next()
  }
  const ended = await run('import entry - --format ndjson --url URL', { input: lines(entries(3)), isOpen: true })
  expect([ended, await count('entry')]).toEqual([
    { code: 130, stdout: '', stderr: 'Interrupted. Nothing was imported.\n' },
    0,
  ])
})

describe('an export', () => {
  const records = entries(500).map((entry) => ({ ...entry, note: `two\n"lines" ${'é'.repeat(200)}` }))
  beforeEach(async () => {
    await world.dataSource.getRepository(Entry).insert(records)
    await world.dataSource
      .getRepository(Pair)
      .insert(records.map(({ minutes, note }) => ({ one: 1, other: minutes, note })))
  })

  /** Interrupts the first response in the middle of a record. */
  function interruptResponse(by: Interruption): void {
    intercept = async (context, next) => {
      await next()
      if (requests.length > 1) return
      const body = context.body as Readable
      context.body = Readable.from(
        (async function* () {
          let sent = 0
          for await (const chunk of body) {
            const last = chunk.lastIndexOf('two')
            const cut = last > chunk.indexOf('two') ? last + 4 : chunk.length
            yield chunk.subarray(0, cut)
            sent += cut
            // A chunk may have only the first line of CSV, or a part of the first record.
            if (cut === chunk.length) continue
            while (!files().some((file) => file.endsWith('.part') && statSync(join(folder, file)).size >= sent))
              await setTimeout(5)
            await interrupt(by, context)
          }
        })(),
      )
    }
  }

  test.each<readonly [format: string, by: Interruption]>([
    ['csv', 'closed connection'],
    ['csv', 'SIGINT'],
    ['ndjson', 'SIGKILL'],
  ])('continues after the last complete record: %s, %s', async (format, by) => {
    interruptResponse(by)
    const line = `export entry a.${format} --url URL --query minutes__lt=480`
    const first = await run(line)
    expect(first.code).toBe(codes[by])
    if (by !== 'SIGKILL')
      expect(first.stderr).toContain(`a.${format} is not complete: run the command again to continue.`)
    expect(files()).toEqual([`a.${format}.part`, `a.${format}.part.progress`])
    const second = await run(line)
    expect([second.code, second.stderr]).toEqual([
      0,
      expect.stringMatching(/^Continuing after [1-9]\d* records\n480 records exported to/),
    ])
    expect(requests).toEqual([expect.any(String), expect.stringMatching(/\?minutes__lt=480&id__gte=\d+$/)])
    const whole = await send(world.url, `GET /api/entry/?format=${format}&minutes__lt=480`, asAnn)
    expect([files(), read(`a.${format}`)]).toEqual([[`a.${format}`], whole.text])
  })

  test.each<readonly [string, string, string, string]>([
    ['keys of several columns', 'pair', '', 'its key cannot be compared'],
    ['an ordering', 'entry', ' --query ordering=-minutes', 'with ordering or limit it cannot be continued'],
    ['a record that was changed', 'entry', '', 'the last record in a.csv.part has changed'],
    ['another query', 'entry', '', 'a.csv.part has other records'],
  ])('starts again: %s', async (title, resource, query, reason) => {
    interruptResponse('closed connection')
    const line = `export ${resource} a.csv --url URL${query}`
    expect((await run(line)).code).toBe(1)
    if (title === 'a record that was changed') await world.sql('UPDATE "entry" SET "minutes" = "minutes" + 1')
    const again = title === 'another query' ? `${line} --query minutes__gte=0` : line
    expect(await run(again)).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(new RegExp(`^The export starts again: ${reason}\n500 records exported to a.csv`)),
    })
    const whole = await send(world.url, `GET /api/${resource}/?format=csv&${query.replace(' --query ', '')}`, asAnn)
    expect([files(), read('a.csv')]).toEqual([['a.csv'], whole.text])
  })
})

// `script` of util-linux runs a command on a terminal.
const onLinux = process.platform === 'linux' ? test : test.skip
onLinux('a terminal shows the progress', async () => {
  entryFile('a.csv', 90)
  const words = [command, 'import', 'entry', 'a.csv', '--url', `${world.url}/api`, '--batch-size', '40']
  child = spawn('script', ['-qec', ['node', ...words].join(' '), '/dev/null'], {
    cwd: folder,
    env: { PATH: process.env['PATH'], TYPEORM_RESOURCES_TOKEN: 'ann-token' },
  })
  let shown = ''
  child.stdout?.on('data', (text) => {
    shown += text
  })
  await once(child, 'close')
  expect(shown).toMatch(/Importing ░+ 0%, 0 records.*Importing █+ 100%, 90 records.*\n90 records imported in/s)
})

test('an import needs the same memory for any size of the file', async () => {
  let peak = 0
  intercept = async (context) => {
    for await (const _ of context.req);
    peak = Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1])
    context.body = { meta: { created: 1 } }
  }
  write('a.ndjson', `{"note":"${'x'.repeat(1000)}"}\n`.repeat(150_000))
  expect((await run('import entry a.ndjson --url URL')).code).toBe(0)
  // Node.js alone needs 50 to 100 MB.
  expect(peak).toBeLessThan(180_000)
})
