import fc from 'fast-check'
import {
  isReference,
  WriteModel as Model,
  type ModelRow,
  type ResourceName,
  resourceNames,
  type Uid,
  type Value,
  type WriteModel,
  type WrittenField,
  writtenResources,
} from './write-model'

/**
 * Requests of write sequences. A request is generated as numbers, which choose among the rows that exist when it is sent: a sequence
 * stays meaningful when fast-check removes requests from it.
 */

/** Fields of a body, each with a number that chooses its value. */
type Draft = Readonly<Record<string, number>>

interface LineDraft {
  readonly draft: Draft
  /** Chooses a line of the purchase; undefined for a new one. */
  readonly target: number | undefined
}

/** A generated request. */
export type WriteOp =
  | { readonly kind: 'post'; readonly resource: ResourceName; readonly draft: Draft }
  | {
      readonly kind: 'put'
      readonly resource: ResourceName
      readonly target: number
      readonly draft: Draft
      readonly method: 'PUT' | 'PATCH'
    }
  | { readonly kind: 'delete'; readonly resource: ResourceName; readonly target: number }
  | {
      readonly kind: 'post many'
      readonly resource: ResourceName
      readonly drafts: readonly Draft[]
      readonly isImport: boolean
    }
  | { readonly kind: 'patch many'; readonly resource: ResourceName; readonly filter: Filter; readonly draft: Draft }
  | { readonly kind: 'delete many'; readonly resource: ResourceName; readonly filter: Filter }
  | {
      readonly kind: 'post nested'
      readonly draft: Draft
      readonly lines: readonly Draft[]
      readonly labels: readonly number[]
    }
  | {
      readonly kind: 'put nested'
      readonly method: 'PUT' | 'PATCH'
      readonly target: number
      readonly draft: Draft
      readonly lines: readonly LineDraft[]
      readonly labels: readonly number[] | undefined
    }
  | {
      readonly kind: 'upsert'
      readonly resource: ResourceName
      readonly drafts: readonly Draft[]
      readonly isArray: boolean
    }
  | { readonly kind: 'put new'; readonly code: number; readonly draft: Draft }
  | { readonly kind: 'batch'; readonly ops: readonly WriteOp[] }

interface Filter {
  /** Greatest value that matches; undefined for a request without a filter. */
  readonly most: number | undefined
  readonly max: number | undefined
}

const choice = fc.nat(199)
const target = fc.nat(30)
const resource = fc.constantFrom(...resourceNames)
const method = fc.constantFrom('PUT' as const, 'PATCH' as const)

/** Fields of a new record, or with `isUpdate` of a change. */
function drafts(name: ResourceName, isUpdate = false, without: readonly string[] = []): fc.Arbitrary<Draft> {
  const fields = Object.entries(writtenResources[name].fields).filter(
    ([field, { isKey }]) => !without.includes(field) && !(isUpdate && isKey),
  )
  const required = fields.filter(([, { initial }]) => !isUpdate && initial === undefined).map(([field]) => field)
  return fc.record(Object.fromEntries(fields.map(([field]) => [field, choice])), { requiredKeys: required })
}

const filters = fc.record({
  most: fc.option(fc.nat(8), { nil: undefined, freq: 12 }),
  max: fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
})
const lineDrafts = drafts('line', false, ['purchase'])
const labelChoices = fc.array(target, { maxLength: 3 })

const byResource = <T>(toArbitrary: (name: ResourceName) => fc.Arbitrary<T>): fc.Arbitrary<T> =>
  resource.chain(toArbitrary)
const several = (name: ResourceName, maxLength: number): fc.Arbitrary<Draft[]> =>
  fc.array(drafts(name), { minLength: 1, maxLength })

const single = fc.oneof(
  {
    weight: 4,
    arbitrary: byResource((name) =>
      fc.record({ kind: fc.constant('post' as const), resource: fc.constant(name), draft: drafts(name) }),
    ),
  },
  {
    weight: 3,
    arbitrary: byResource((name) =>
      fc.record({
        kind: fc.constant('put' as const),
        resource: fc.constant(name),
        target,
        draft: drafts(name, true),
        method,
      }),
    ),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('delete' as const), resource, target }) },
  {
    weight: 3,
    arbitrary: byResource((name) =>
      fc.record({
        kind: fc.constant('post many' as const),
        resource: fc.constant(name),
        drafts: several(name, 4),
        isImport: fc.boolean(),
      }),
    ),
  },
  {
    weight: 2,
    arbitrary: byResource((name) =>
      fc.record({
        kind: fc.constant('patch many' as const),
        resource: fc.constant(name),
        filter: filters,
        draft: drafts(name, true),
      }),
    ),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('delete many' as const), resource, filter: filters }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('post nested' as const),
      draft: drafts('purchase'),
      lines: fc.array(lineDrafts, { maxLength: 3 }),
      labels: labelChoices,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('put nested' as const),
      method,
      target,
      draft: drafts('purchase', true),
      lines: fc.array(fc.record({ draft: lineDrafts, target: fc.option(target, { nil: undefined, freq: 2 }) }), {
        maxLength: 3,
      }),
      labels: fc.option(labelChoices, { nil: undefined }),
    }),
  },
  {
    weight: 3,
    arbitrary: byResource((name) =>
      fc.record({
        kind: fc.constant('upsert' as const),
        resource: fc.constant(name),
        drafts: several(name, 3),
        isArray: fc.boolean(),
      }),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('put new' as const), code: choice, draft: drafts('label', true) }),
  },
)
/** A batch has no imports. */
const batch = fc.record({
  kind: fc.constant('batch' as const),
  ops: fc
    .array(single, { minLength: 1, maxLength: 4 })
    .map((ops) => ops.map((op) => (op.kind === 'post many' ? { ...op, isImport: false } : op))),
})

/** Generates a request. */
export const writeOps: fc.Arbitrary<WriteOp> = fc.oneof(
  { weight: 5, arbitrary: single },
  { weight: 1, arbitrary: batch },
)

/** What the model predicts for a request. */
export interface Prediction {
  readonly line: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** Possible statuses of the response. */
  readonly statuses: readonly number[]
  /** Fields, with the index of their record, that may be named by the errors of a 400. */
  readonly wrong: ReadonlySet<string>
  /** Part of the response if the request is accepted. */
  readonly shown?: object
  /** Whether the request is refused for its query, which a batch checks before its operations run. */
  readonly isBadQuery?: boolean
  /** Index of the operations of a batch that may be refused. */
  readonly indexes?: readonly number[]
  /** The data if the request is accepted. */
  readonly next: WriteModel
  /** Row that a single POST creates, to which later operations of a batch may refer. */
  readonly created?: { readonly resource: ResourceName; readonly uid: Uid }
}

export const isRefusal = (status: number): boolean => status >= 400

/** Keys of no record, by the type of the key. */
export type MissingKeys = Readonly<Record<ResourceName, unknown>>

/** A body of a draft. */
interface Written {
  readonly json: Record<string, unknown>
  readonly values: Record<string, Value>
  /** Fields with values of a wrong type, and required fields that are missing. */
  readonly malformed: readonly string[]
  /** Fields whose value a validator refuses. */
  readonly invalid: readonly string[]
  /** Foreign keys to no record. */
  readonly dangling: readonly string[]
}

/** Predicts the responses to requests. */
export class Predictor {
  constructor(private readonly missing: MissingKeys) {}

  predict(op: WriteOp, model: WriteModel): Prediction {
    switch (op.kind) {
      case 'post':
        return this.#post(op.resource, op.draft, model)
      case 'put':
        return this.#put(op, model)
      case 'delete':
        return this.#delete(op, model)
      case 'post many':
        return this.#postMany(op, model)
      case 'patch many':
        return this.#patchMany(op, model)
      case 'delete many':
        return this.#deleteMany(op, model)
      case 'post nested':
        return this.#postNested(op, model)
      case 'put nested':
        return this.#putNested(op, model)
      case 'upsert':
        return this.#upsert(op, model)
      case 'put new':
        return this.#putNew(op, model)
      case 'batch':
        return this.#batch(op, model)
    }
  }

  #post(name: ResourceName, draft: Draft, model: WriteModel): Prediction {
    const written = this.#write(name, draft, model, true)
    const next = new Model(model)
    const uid = next.create(name, written.values)
    return {
      line: `POST /api/${name}/`,
      body: written.json,
      next,
      created: { resource: name, uid },
      ...outcome(201, [{ written, at: '' }], next),
    }
  }

  #put({ resource, target, draft, method }: WriteOp & { kind: 'put' }, model: WriteModel): Prediction {
    const written = this.#write(resource, draft, model, false)
    const row = this.#target(resource, target, model)
    const next = new Model(model)
    if (row !== undefined) next.update(resource, row.uid, written.values)
    return {
      line: `${method} ${this.#path(resource, row)}`,
      body: written.json,
      next,
      ...(row === undefined ? refused(404) : outcome(200, [{ written, at: '' }], next)),
    }
  }

  #delete({ resource, target }: WriteOp & { kind: 'delete' }, model: WriteModel): Prediction {
    const row = this.#target(resource, target, model)
    const next = new Model(model)
    const isUnused = row !== undefined && model.isUnused(resource, row.uid)
    if (isUnused) next.delete(resource, row.uid)
    const line = `DELETE ${this.#path(resource, row)}`
    return { line, next, ...(row === undefined ? refused(404) : isUnused ? accepted(204) : refused(409)) }
  }

  #postMany({ resource, drafts: all, isImport }: WriteOp & { kind: 'post many' }, model: WriteModel): Prediction {
    const records = all.map((draft, index) => ({
      written: this.#write(resource, draft, model, true),
      at: isImport ? `line ${index + 1}: ` : `${index}: `,
    }))
    const next = new Model(model)
    for (const { written } of records) next.create(resource, written.values)
    const bodies = records.map(({ written }) => written.json)
    return {
      line: `POST /api/${resource}/`,
      body: isImport ? bodies.map((body) => JSON.stringify(body)).join('\n') : bodies,
      ...(isImport && { headers: { 'Content-Type': 'application/x-ndjson' } }),
      next,
      shown: { meta: { created: all.length } },
      ...outcome(201, records, next),
    }
  }

  #patchMany({ resource, filter, draft }: WriteOp & { kind: 'patch many' }, model: WriteModel): Prediction {
    const written = this.#write(resource, draft, model, false)
    const { query, matching, refusal } = match(resource, filter, model)
    const next = new Model(model)
    for (const { uid } of matching) next.update(resource, uid, written.values)
    const request = { line: `PATCH /api/${resource}/${query}`, body: written.json, next }
    const shown = { meta: { updated: matching.length } }
    if (filter.most === undefined) return { ...request, isBadQuery: true, ...refused(400, ['the query']) }
    const { malformed, invalid, dangling } = written
    if (Object.keys(written.json).length === 0) return { ...request, ...refused(400, ['the body']) }
    if (malformed.length > 0) return { ...request, ...refused(400, [...malformed, ...dangling]) }
    // A foreign key is looked up before the records, or by the database when it writes them.
    if (dangling.length > 0) {
      const statuses = [400, ...refusal, ...(matching.length === 0 ? [200] : []), ...(next.hasDuplicates ? [409] : [])]
      return { ...request, shown, statuses, wrong: new Set([...dangling, ...invalid]) }
    }
    if (refusal.length > 0) return { ...request, ...refused(409) }
    if (matching.length === 0) return { ...request, shown, ...accepted(200) }
    return { ...request, shown, ...outcome(200, [{ written, at: '' }], next) }
  }

  #deleteMany({ resource, filter }: WriteOp & { kind: 'delete many' }, model: WriteModel): Prediction {
    const { query, matching, refusal } = match(resource, filter, model)
    const next = new Model(model)
    const isUnused = matching.every(({ uid }) => model.isUnused(resource, uid))
    if (isUnused) for (const { uid } of matching) next.delete(resource, uid)
    const request = { line: `DELETE /api/${resource}/${query}`, next, shown: { meta: { deleted: matching.length } } }
    if (filter.most === undefined) return { ...request, isBadQuery: true, ...refused(400, ['the query']) }
    return { ...request, ...(refusal.length > 0 || !isUnused ? refused(409) : accepted(200)) }
  }

  #postNested({ draft, lines, labels }: WriteOp & { kind: 'post nested' }, model: WriteModel): Prediction {
    const written = this.#write('purchase', draft, model, true)
    const linked = this.#labels(labels, model)
    const next = new Model(model)
    const uid = next.create('purchase', written.values, linked.uids)
    const records = lines.map((line, index) => ({
      written: this.#write('line', line, model, true, 'purchase'),
      at: `lines[${index}].`,
    }))
    for (const record of records) next.create('line', { ...record.written.values, purchase: uid })
    return {
      line: 'POST /api/purchase/',
      body: { ...written.json, lines: records.map((record) => record.written.json), label_ids: linked.json },
      next,
      created: { resource: 'purchase', uid },
      ...outcome(201, [{ written, at: '' }, ...records, { written: linked.written, at: '' }], next),
    }
  }

  #putNested(
    { method, target, draft, lines, labels }: WriteOp & { kind: 'put nested' },
    model: WriteModel,
  ): Prediction {
    const written = this.#write('purchase', draft, model, false)
    const row = this.#target('purchase', target, model)
    const linked = this.#labels(labels ?? [], model)
    const own = knownRows(model, 'line').filter(({ values }) => values['purchase'] === row?.uid)
    const used = new Set<Uid>()
    const records = lines.map(({ draft: line, target: chosen }, index) => {
      const at = `lines[${index}].`
      // One of ten is the line of another purchase, or none.
      const isWrong = chosen !== undefined && chosen % 10 === 9
      const unused = own.filter(({ uid }) => !used.has(uid))
      const stored = chosen === undefined || isWrong ? undefined : unused[chosen % Math.max(1, unused.length)]
      if (stored !== undefined) used.add(stored.uid)
      const record = this.#write('line', line, model, stored === undefined && !isWrong, 'purchase')
      const other = knownRows(model, 'line').find(({ values }) => values['purchase'] !== row?.uid)
      const id = isWrong ? (other?.id ?? this.missing.line) : stored?.id
      const json = id === undefined ? record.json : { id, ...record.json }
      return { at, stored, written: { ...record, json, dangling: [...record.dangling, ...(isWrong ? ['id'] : [])] } }
    })
    const next = new Model(model)
    const steps: boolean[] = []
    if (row !== undefined) {
      next.update('purchase', row.uid, written.values, labels === undefined ? undefined : linked.uids)
      const isReplaced = method === 'PUT'
      const rest = model.rows('line').filter(({ uid, values }) => values['purchase'] === row.uid && !used.has(uid))
      if (isReplaced) for (const { uid } of rest) next.delete('line', uid)
      // Records are written one after the other, so that two of them cannot exchange unique values.
      for (const { stored, written: record } of records) {
        if (stored === undefined) next.create('line', { ...record.values, purchase: row.uid })
        else next.update('line', stored.uid, record.values)
        steps.push(next.hasDuplicates)
      }
    }
    const request = {
      line: `${method} ${this.#path('purchase', row)}`,
      body: {
        ...written.json,
        lines: records.map((record) => record.written.json),
        ...(labels !== undefined && { label_ids: linked.json }),
      },
      next,
    }
    if (row === undefined) return { ...request, ...refused(404) }
    const predicted = outcome(200, [{ written, at: '' }, ...records, { written: linked.written, at: '' }], next)
    const mayConflict = steps.includes(true) && !predicted.statuses.includes(409) && predicted.statuses.includes(200)
    return { ...request, ...predicted, statuses: [...predicted.statuses, ...(mayConflict ? [409] : [])] }
  }

  #upsert({ resource, drafts: all, isArray }: WriteOp & { kind: 'upsert' }, model: WriteModel): Prediction {
    const { unique, fields } = writtenResources[resource]
    const next = new Model(model)
    const counts = { created: 0, updated: 0 }
    const records = (isArray ? all : all.slice(0, 1)).map((draft, index) => {
      const isWhole = unique.every((field) => draft[field] !== undefined)
      // Decides whether the record exists, by values that are correct.
      const probe = this.#write(resource, draft, model, true)
      const stored = next
        .rows(resource)
        .find(({ values }) => unique.every((field) => values[field] === probe.values[field]))
      const written = stored === undefined || !isWhole ? probe : this.#write(resource, draft, model, false)
      const missing = unique.filter((field) => !(jsonName(field, fields[field]) in written.json))
      if (stored === undefined) next.create(resource, written.values)
      else next.update(resource, stored.uid, written.values)
      counts[stored === undefined ? 'created' : 'updated']++
      const malformed = [...written.malformed, ...missing.map((field) => jsonName(field, fields[field]))]
      return { written: { ...written, malformed }, at: isArray ? `${index}: ` : '' }
    })
    const names = unique.map((field) => jsonName(field, fields[field])).join()
    const bodies = records.map(({ written }) => written.json)
    const status = isArray || counts.updated > 0 ? 200 : 201
    return {
      line: `POST /api/${resource}/?on_conflict=${names}`,
      body: isArray ? bodies : bodies[0],
      next,
      ...(isArray && { shown: { meta: counts } }),
      ...outcome(status, records, next),
    }
  }

  #putNew({ code: chosen, draft }: WriteOp & { kind: 'put new' }, model: WriteModel): Prediction {
    const written = this.#write('label', draft, model, false)
    const code = textOf(chosen)
    const next = new Model(model)
    const exists = model.rows('label').some(({ values }) => values['code'] === code)
    if (!exists) next.create('label', { ...written.values, code })
    return {
      line: `PUT /api/label/${code}/`,
      body: written.json,
      headers: { 'If-None-Match': '*' },
      next,
      ...(exists ? refused(412) : outcome(201, [{ written, at: '' }], next)),
    }
  }

  #batch({ ops }: WriteOp & { kind: 'batch' }, model: WriteModel): Prediction {
    let next = new Model(model)
    const operations: object[] = []
    const statuses = new Set<number>()
    const indexes: number[] = []
    const badQueries: number[] = []
    const wrong = new Set<string>()
    let isRefused = false
    for (const [index, op] of ops.entries()) {
      const prediction = this.predict(op, next)
      const [method, path] = prediction.line.split(' ')
      const { body, headers } = prediction
      operations.push({ method, path, ...(body !== undefined && { body }), ...(headers && { headers }) })
      if (prediction.isBadQuery) badQueries.push(index)
      if (isRefused) continue
      const refusals = prediction.statuses.filter(isRefusal)
      for (const status of refusals) statuses.add(status)
      if (refusals.length > 0) indexes.push(index)
      for (const field of prediction.wrong) wrong.add(field)
      isRefused = refusals.length === prediction.statuses.length
      if (isRefused) continue
      next = new Model(prediction.next)
      const { created } = prediction
      if (created !== undefined) next.identify(created.resource, created.uid, { id: undefined, ref: `${index}.id` })
    }
    const request = { line: 'POST /api/-/batch', body: operations, next }
    const [bad] = badQueries
    if (bad !== undefined) return { ...request, ...refused(400, ['the query']), indexes: [bad] }
    for (const name of resourceNames) {
      for (const { uid, id, ref } of next.rows(name)) if (ref !== undefined) next.identify(name, uid, { id })
    }
    if (!isRefused) statuses.add(200)
    return { ...request, statuses: [...statuses], wrong, indexes }
  }

  /** The row that a number chooses; undefined for a key of no row. */
  #target(name: ResourceName, chosen: number, model: WriteModel): ModelRow | undefined {
    const rows = model.rows(name).filter(({ id }) => id !== undefined)
    return chosen % 10 === 9 ? undefined : rows[chosen % Math.max(1, rows.length)]
  }

  #path(name: ResourceName, row: ModelRow | undefined): string {
    return `/api/${name}/${row?.id ?? this.missing[name]}/`
  }

  #labels(choices: readonly number[], model: WriteModel) {
    const rows = choices.map((chosen) => this.#target('label', chosen, model))
    const dangling = rows.flatMap((row, index) => (row === undefined ? [`label_ids[${index}]`] : []))
    const written: Written = { json: {}, values: {}, malformed: [], invalid: [], dangling }
    return {
      json: rows.map((row) => row?.id ?? this.missing.label),
      uids: new Set(rows.flatMap((row) => row?.uid ?? [])),
      written,
    }
  }

  /** Converts a draft to a body. @param parent foreign key that the service sets */
  #write(name: ResourceName, draft: Draft, model: WriteModel, isNew: boolean, parent?: string): Written {
    const json: Record<string, unknown> = {}
    const values: Record<string, Value> = {}
    const malformed: string[] = []
    const invalid: string[] = []
    const dangling: string[] = []
    for (const [field, declared] of Object.entries(writtenResources[name].fields)) {
      const chosen = draft[field]
      const shown = jsonName(field, declared)
      if (field === parent) continue
      if (chosen === undefined || chosen === 196) {
        if (isNew && declared.initial === undefined) malformed.push(shown)
      } else if (chosen >= 197) {
        json[shown] = isReference(declared) ? true : declared.type === 'int' ? 'many' : 'far too long a text'
        malformed.push(shown)
      } else if (declared.type === 'text' || declared.type === 'int') {
        const value = declared.nullable && chosen % 8 === 7 ? null : valueFor(name, field, declared, chosen)
        json[shown] = values[field] = value
        if (declared.isValid?.(value) === false) invalid.push(shown)
      } else {
        const rows = knownRows(model, declared.type, true)
        const row = chosen % 40 === 39 ? undefined : rows[chosen % Math.max(1, rows.length)]
        if (declared.nullable && chosen % 8 === 7) json[shown] = values[field] = null
        else if (row === undefined) {
          json[shown] = this.missing[declared.type]
          dangling.push(shown)
          // No row has this number.
          values[field] = -1
        } else {
          json[shown] = row.ref === undefined ? row.id : { $ref: row.ref }
          values[field] = row.uid
        }
      }
    }
    return { json, values, malformed, invalid, dangling }
  }
}

/** Rows whose keys are known. @param isReferable whether rows to which a batch can refer count too */
function knownRows(model: WriteModel, name: ResourceName, isReferable = false): readonly ModelRow[] {
  return model.rows(name).filter(({ id, ref }) => id !== undefined || (isReferable && ref !== undefined))
}

const jsonName = (field: string, declared: WrittenField | undefined): string =>
  declared !== undefined && isReference(declared) ? `${field}_id` : field

const textOf = (chosen: number): string => 'abcdefghijkl'[chosen % 12] ?? 'a'

function valueFor(name: ResourceName, field: string, { type, isValid }: WrittenField, chosen: number): Value {
  if (type === 'text') return textOf(chosen)
  // One of fifty breaks the rule of the validator.
  if (isValid !== undefined && chosen % 50 === 49) return name === 'line' ? 0 : 101
  return field === 'number' ? 1 + (chosen % 12) : 1 + (chosen % 6)
}

/** The field that filters compare, and the values for a number. */
const filterFields = {
  product: { field: 'price', valueOf: (most: number): Value => most },
  label: { field: 'code', valueOf: (most: number): Value => textOf(most) },
  purchase: { field: 'number', valueOf: (most: number): Value => most },
  line: { field: 'position', valueOf: (most: number): Value => most - 2 },
} as const

function match(name: ResourceName, { most, max }: Filter, model: WriteModel) {
  const { field, valueOf: toValue } = filterFields[name]
  const limit = toValue(most ?? 0)
  const matching = model.rows(name).filter(({ values }) => (values[field] ?? 0) <= (limit ?? 0))
  const { bulk } = writtenResources[name]
  const pairs = [
    ...(most === undefined ? [] : [`${field}__lte=${limit}`]),
    ...(max === undefined ? [] : [`max=${max}`]),
  ]
  return {
    query: pairs.length === 0 ? '' : `?${pairs.join('&')}`,
    matching,
    refusal: matching.length > Math.min(bulk, max ?? bulk) ? [409] : [],
  }
}

const accepted = (status: number) => ({ statuses: [status], wrong: new Set<string>() })
const refused = (status: number, wrong: readonly string[] = []) => ({ statuses: [status], wrong: new Set(wrong) })

/** The response to a request whose records would lead to the next state. */
function outcome(
  status: number,
  records: readonly { readonly written: Written; readonly at: string }[],
  next: WriteModel,
): Pick<Prediction, 'statuses' | 'wrong'> {
  const pathsOf = (...kinds: readonly ('malformed' | 'invalid' | 'dangling')[]): readonly string[] =>
    records.flatMap(({ written, at }) => kinds.flatMap((kind) => written[kind].map((field) => at + field)))
  const wrong = new Set(pathsOf('malformed', 'invalid', 'dangling'))
  if (pathsOf('malformed', 'invalid').length > 0) return { statuses: [400], wrong }
  if (pathsOf('dangling').length > 0) {
    if (!next.hasDuplicates) return { statuses: [400], wrong }
    // The database finds one of the violations, or each in another record.
    const unique = records.flatMap(({ at }) => ['code', 'number', 'purchase_id', 'position'].map((field) => at + field))
    return { statuses: [400, 409], wrong: new Set([...wrong, ...unique]) }
  }
  return next.hasDuplicates ? refused(409) : accepted(status)
}

const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index)

/** Requests with which each sequence begins, so that the others find records. */
export const firstOps: readonly WriteOp[] = [
  { kind: 'post many', resource: 'product', drafts: numbers(4).map((code) => ({ code })), isImport: true },
  { kind: 'post many', resource: 'label', drafts: numbers(3).map((code) => ({ code })), isImport: false },
  ...numbers(2).map(
    (number): WriteOp => ({
      kind: 'post nested',
      draft: { number },
      lines: numbers(3).map((position) => ({ position, product: position })),
      labels: [number],
    }),
  ),
]
