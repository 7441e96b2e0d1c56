import type { Step } from '../conformance/case'
import { type KeyType, keyOf } from '../world/vary'

/** Resources of `test/world` whose key type can be changed. */
export type Keyed = 'user' | 'note' | 'message'
export type KeyTypes = Readonly<Record<Keyed, KeyType>>

/** The resources that relations refer to. */
const targets: Readonly<Record<string, Keyed>> = { author: 'user', user: 'user', parent: 'note', note: 'note' }

const operators = new Set(['eq', 'ne', 'in', 'lt', 'lte', 'gt', 'gte'])

const isKeyed = (name: string): name is Keyed => name === 'user' || name === 'note' || name === 'message'

/** Replaces the numbers that are keys in steps and rows by keys of other types. */
export class KeyMap {
  constructor(readonly types: KeyTypes) {}

  get areNumbers(): boolean {
    return !Object.values(this.types).includes('uuid')
  }

  /** Converts a row or a JSON value of a resource. */
  readonly value = (resource: string, value: unknown): unknown => {
    if (Array.isArray(value)) return value.map((one) => this.value(resource, one))
    if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => {
        const entity = this.#entityOf(resource, name)
        if (typeof member !== 'number' || entity === undefined) return [name, this.value(resource, member)]
        return [name, keyOf(this.types[entity], member)]
      }),
    )
  }

  readonly step = (step: Step): Step => {
    const resource = /\/api\/(\w+)/.exec(step.request)?.[1] ?? ''
    const { body, has, json, ids } = step
    return {
      ...step,
      request: this.#request(resource, step.request),
      ...(typeof body === 'string' ? { body: this.#text(body) } : { body: this.value(resource, body) }),
      ...(has !== undefined && { has: this.value(resource, has) as object }),
      ...(json !== undefined && { json: this.value(resource, json) }),
      ...(ids !== undefined && { ids: ids.map((id) => this.#key(isKeyed(resource) ? resource : undefined, id)) }),
    }
  }

  /** Converts the key in the path, and those in filters. */
  #request(resource: string, request: string): string {
    const [path = '', query] = request.split(/\?(.*)/s)
    const mapped = path.replace(/(\/api\/(\w+)\/)([1-9]\d*)(?=\/?$)/, (_, start: string, name: string, id: string) =>
      [start, this.#key(isKeyed(name) ? name : undefined, Number(id))].join(''),
    )
    if (query === undefined) return mapped
    return `${mapped}?${query
      .split('&')
      .map((pair) => this.#filter(resource, pair))
      .join('&')}`
  }

  #filter(resource: string, pair: string): string {
    const [name = '', values = ''] = pair.split(/=(.*)/s)
    const path = name.split('__').filter((part) => !operators.has(part))
    const owner = path
      .slice(0, -1)
      .reduce<string | undefined>((at, relation) => at && this.#entityOf(at, relation), resource)
    const entity = owner === undefined ? undefined : this.#entityOf(owner, path.at(-1) ?? '')
    if (entity === undefined || !/^\d+(,\d+)*$/.test(values)) return pair
    return `${name}=${values.split(',').map((value) => this.#key(entity, Number(value)))}`
  }

  /** Converts a body that is sent as text: JSON, or JSON in a form. */
  #text(body: string): string {
    return body.replace(
      /((?:author|user|parent|note)_id)("|%22)(:|%3A)(\d+)/g,
      (_, name: string, quote: string, colon: string, id: string) => {
        const key = this.#key(this.#entityOf('', name), Number(id))
        return [name, quote, colon, ...(typeof key === 'string' ? [quote, key, quote] : [key])].join('')
      },
    )
  }

  #entityOf(resource: string, name: string): Keyed | undefined {
    if (name === 'id') return isKeyed(resource) ? resource : undefined
    return targets[name.replace(/_id$/, '')]
  }

  #key(entity: Keyed | undefined, id: number | string): number | string {
    return entity === undefined || typeof id === 'string' ? id : keyOf(this.types[entity], id)
  }
}
