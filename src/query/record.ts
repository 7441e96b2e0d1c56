import type { DataSource } from 'typeorm'
import type { Field } from '../schema/field'
import { onceFor } from '../schema/once-for'
import type { Resource } from '../schema/registry'
import { jsonText } from '../value/json-text'
import type { Json } from '../value/kind'
import { fieldValue, type Row } from './row'
import { shownOf } from './shown'
import type { RawRow } from './statement'

/** Writes the JSON of one record, embedded entities as objects in it (spec.md, Record representation). */
type WriteRecord<From> = (from: From) => string

/** What a record shows for a field. */
export function renderField(resource: Resource, row: Row, field: Field): Json {
  const value = fieldValue(resource, row, field)
  return value === null ? null : field.kind.toJson(value)
}

/** Of a row, as listeners may have left it. */
export const recordOfRow = onceFor(
  (resource: Resource): WriteRecord<Row> =>
    buildWriter(resource, (field) => (row) => jsonText(renderField(resource, row, field))),
)

/** Of a row as the driver hands it out: the same, by less work. */
export const recordOfRaw = onceFor(
  (resource: Resource, dataSource: DataSource): WriteRecord<RawRow> =>
    buildWriter(resource, (field) => {
      const shown = shownOf(field, resource, dataSource)
      return (raw) => jsonText(shown(raw))
    }),
)

/** Fields by the names in their paths. */
interface Branch extends Map<string, Field | Branch> {}

/** Puts the text between the values together once. */
function buildWriter<From>({ record }: Resource, writerOf: (field: Field) => WriteRecord<From>): WriteRecord<From> {
  const tree: Branch = new Map()
  for (const field of record) place(tree, field.path, field)
  const parts: { readonly before: string; readonly write: WriteRecord<From> }[] = []
  let text = ''
  const open = (branch: Branch): void => {
    for (const [index, [name, inner]] of [...branch].entries()) {
      text += `${index === 0 ? '{' : ','}${JSON.stringify(name)}:`
      if (inner instanceof Map) open(inner)
      else {
        parts.push({ before: text, write: writerOf(inner) })
        text = ''
      }
    }
    text += '}'
  }
  open(tree)
  return (from) => {
    let json = ''
    for (const { before, write } of parts) json += before + write(from)
    return json + text
  }
}

function place(branch: Branch, [name = '', ...rest]: readonly string[], field: Field): void {
  if (rest.length === 0) {
    branch.set(name, field)
    return
  }
  const known = branch.get(name)
  const inner: Branch = known instanceof Map ? known : new Map()
  branch.set(name, inner)
  place(inner, rest, field)
}
