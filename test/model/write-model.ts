/** Model of the data that write sequences change: rows in memory, and the rules of their entities (`written-entities.ts`). */

export type ResourceName = 'product' | 'label' | 'purchase' | 'line'
export const resourceNames: readonly ResourceName[] = ['product', 'label', 'purchase', 'line']

/** Number of a row in the model. The database chooses the keys, which the model learns afterwards. */
export type Uid = number
export type Value = string | number | null

/** A column or a foreign key, whose values in the model are numbers of rows. */
export interface WrittenField {
  readonly type: 'text' | 'int' | Exclude<ResourceName, 'line'>
  readonly nullable?: true
  /** Value of a new row; undefined if the field is required. */
  readonly initial?: Value
  /** The rule of a validator. */
  readonly isValid?: (value: Value) => boolean
  /** Whether PUT and PATCH cannot change it. */
  readonly isKey?: true
}

interface WrittenResource {
  readonly fields: Readonly<Record<string, WrittenField>>
  readonly unique: readonly string[]
  /** Maximum number of records of a bulk write. */
  readonly bulk: number
}

const optionalText = { type: 'text', nullable: true, initial: null } as const

export const writtenResources: Readonly<Record<ResourceName, WrittenResource>> = {
  product: {
    fields: { code: { type: 'text' }, price: { type: 'int', initial: 1, isValid: (price) => Number(price) <= 100 } },
    unique: ['code'],
    bulk: 1000,
  },
  label: { fields: { code: { type: 'text', isKey: true }, title: optionalText }, unique: ['code'], bulk: 1000 },
  purchase: { fields: { number: { type: 'int' }, title: optionalText }, unique: ['number'], bulk: 1000 },
  line: {
    fields: {
      purchase: { type: 'purchase' },
      product: { type: 'product', nullable: true, initial: null },
      position: { type: 'int' },
      quantity: { type: 'int', initial: 1, isValid: (quantity) => Number(quantity) >= 1 },
    },
    unique: ['purchase', 'position'],
    bulk: 4,
  },
}

/** Whether a field is a foreign key. */
export const isReference = ({ type }: WrittenField): boolean => type !== 'text' && type !== 'int'

export interface ModelRow {
  readonly uid: Uid
  /** The key, if it is known. */
  readonly id: unknown
  /** Reference to the result of an operation of the current batch that has created the row. */
  readonly ref?: string
  readonly values: Readonly<Record<string, Value>>
  /** The labels of a purchase. */
  readonly labels: ReadonlySet<Uid>
}

let lastUid = 0

/** The rows of all resources. */
export class WriteModel {
  readonly #tables: Readonly<Record<ResourceName, Map<Uid, ModelRow>>>

  constructor(tables?: WriteModel) {
    const copy = (name: ResourceName): Map<Uid, ModelRow> => new Map(tables?.rows(name).map((row) => [row.uid, row]))
    this.#tables = { product: copy('product'), label: copy('label'), purchase: copy('purchase'), line: copy('line') }
  }

  rows(name: ResourceName): readonly ModelRow[] {
    return [...this.#tables[name].values()]
  }

  create(name: ResourceName, values: ModelRow['values'], labels: ModelRow['labels'] = new Set()): Uid {
    const initial = Object.entries(writtenResources[name].fields).map(([field, { initial = null }]) => [field, initial])
    const uid = ++lastUid
    const all = { ...Object.fromEntries(initial), ...values }
    this.#tables[name].set(uid, { uid, id: name === 'label' ? all['code'] : undefined, values: all, labels })
    return uid
  }

  update(name: ResourceName, uid: Uid, values: ModelRow['values'], labels?: ModelRow['labels']): void {
    const row = this.get(name, uid)
    this.#set(name, { ...row, values: { ...row.values, ...values }, labels: labels ?? row.labels })
  }

  identify(name: ResourceName, uid: Uid, key: Pick<ModelRow, 'id' | 'ref'>): void {
    const { ref: _, ...row } = this.get(name, uid)
    this.#set(name, { ...row, ...key })
  }

  /** Deletes a row, the lines of a purchase, and the links to a label. */
  delete(name: ResourceName, uid: Uid): void {
    this.#tables[name].delete(uid)
    if (name === 'purchase') {
      for (const line of this.rows('line')) if (line.values['purchase'] === uid) this.delete('line', line.uid)
    }
    if (name === 'label') {
      for (const { uid: own, labels } of this.rows('purchase')) {
        this.update('purchase', own, {}, new Set([...labels].filter((label) => label !== uid)))
      }
    }
  }

  get(name: ResourceName, uid: Uid): ModelRow {
    const row = this.#tables[name].get(uid)
    if (row === undefined) throw new Error(`the model has no ${name} ${uid}`)
    return row
  }

  /** Whether a row can be deleted: no line has the product. */
  isUnused(name: ResourceName, uid: Uid): boolean {
    return name !== 'product' || this.rows('line').every(({ values }) => values['product'] !== uid)
  }

  /** Whether two rows have the same unique values. */
  get hasDuplicates(): boolean {
    return resourceNames.some((name) => {
      const keys = this.rows(name).map(({ values }) =>
        writtenResources[name].unique.map((field) => values[field]).join(),
      )
      return new Set(keys).size < keys.length
    })
  }

  /** The rows by their unique values, without keys, to compare them with what the service shows. */
  contents(): Contents {
    const codeOf = (name: ResourceName, uid: Value | undefined): Value =>
      typeof uid === 'number' ? (this.get(name, uid).values['code'] ?? null) : null
    const show = (name: ResourceName, keyOf: (row: ModelRow) => string, toShown: (row: ModelRow) => object) =>
      new Map(this.rows(name).map((row) => [keyOf(row), { row, shown: toShown(row) }]))
    return {
      product: show(
        'product',
        ({ values }) => String(values['code']),
        ({ values: { price } }) => ({ price }),
      ),
      label: show(
        'label',
        ({ values }) => String(values['code']),
        ({ values: { title } }) => ({ title }),
      ),
      purchase: show(
        'purchase',
        ({ values }) => String(values['number']),
        ({ values: { title }, labels }) => ({
          title,
          labels: [...labels].map((uid) => codeOf('label', uid)).toSorted(),
        }),
      ),
      line: show(
        'line',
        ({ values }) => `${this.get('purchase', Number(values['purchase'])).values['number']}/${values['position']}`,
        ({ values: { product, quantity } }) => ({ product: codeOf('product', product), quantity }),
      ),
    }
  }

  #set(name: ResourceName, row: ModelRow): void {
    this.#tables[name].set(row.uid, row)
  }
}

export type Contents = Readonly<
  Record<ResourceName, ReadonlyMap<string, { readonly row: ModelRow; readonly shown: object }>>
>
