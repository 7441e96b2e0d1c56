import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { Refused, type Request, send } from './api'
import { useFocusEffect } from './focus'
import { countOf, type Resource, title } from './model'
import { isNested } from './nested'
import { Problem } from './problem'
import { pathOf } from './route'
import { useError, useSession } from './session'

/** Media types by file name extension. */
const typesByExtension: Readonly<Record<string, string>> = {
  '.csv': 'text/csv',
  '.ndjson': 'application/x-ndjson',
  '.jsonl': 'application/x-ndjson',
}

/** Maximum number of errors that are shown. */
const maxErrors = 20

/** Number of records in a response to a file. */
interface Counts {
  readonly created: number
  /** Undefined without `on_conflict`. */
  readonly updated?: number
}

function outcomeOf({ created, updated = 0 }: Counts, verb: 'can be ' | ''): string {
  const parts = [
    created > 0 && `${countOf(created)} ${verb}created`,
    updated > 0 && `${countOf(updated)} ${verb}changed`,
  ]
  const text = parts.filter(Boolean).join(', ')
  return text === '' ? 'The file has no records.' : `${text}.`
}

function sizeOf({ size }: File): string {
  return size < 100_000 ? `${(size / 1000).toFixed(1)} kB` : `${(size / 1_000_000).toFixed(1)} MB`
}

interface ImportProps {
  readonly resource: Resource
  /** Receives a message about what was done. */
  readonly onDone: (result: string) => void
  readonly onClose: () => void
}

/** Form to create records from a file, which the service checks before the user can import it. */
export function Import({ resource, onDone, onClose }: ImportProps) {
  const { user, showRequest } = useSession()
  const [file, setFile] = useState<File>()
  const [conflict, setConflict] = useState('')
  /** Result of the check of this file; undefined if it has not passed. */
  const [checked, setChecked] = useState<Counts>()
  const [running, setRunning] = useState<{ readonly isCheck: boolean; readonly abort: AbortController }>()
  const [error, setError] = useError()
  const input = useRef<HTMLInputElement>(null)
  const id = useId()
  const { name, fileTypes, conflictFields, creates = [] } = resource
  // A file has no related records.
  const fields = creates.filter((field) => !field.schema.readOnly && !isNested(field))
  const extensions = Object.keys(typesByExtension).filter((extension) =>
    fileTypes.includes(typesByExtension[extension] ?? ''),
  )
  useFocusEffect(() => input.current?.focus(), [])
  // Leaving the list cancels a check, but not an import: the user could not know whether the records were written.
  useEffect(() => () => void (running?.isCheck && running.abort.abort()), [running])
  const requestFor = (body: File, isCheck: boolean): Request => {
    const extension = extensions.find((one) => body.name.toLowerCase().endsWith(one)) ?? ''
    const query = { ...(conflict && { on_conflict: conflict }), ...(isCheck && { dry_run: 'true' }) }
    return { method: 'POST', path: pathOf(`/${name}/`, query), body, type: typesByExtension[extension] ?? '' }
  }
  const submit = async (isCheck: boolean): Promise<void> => {
    if (running) return
    setError(undefined)
    // The button to import stays during the import: it has the focus.
    if (isCheck) setChecked(undefined)
    if (file === undefined) return setError(new Refused(400, 'Choose a file first.', []))
    const request = requestFor(file, isCheck)
    if (request.type === '')
      return setError(new Refused(400, `The name of the file must end in ${extensions.join(' or ')}.`, []))
    const abort = new AbortController()
    setRunning({ isCheck, abort })
    showRequest(request)
    await send(request, user, abort.signal).then(
      ({ json }) => {
        const counts: Counts = Object(json).meta
        if (isCheck) setChecked(counts)
        else onDone(outcomeOf(counts, ''))
      },
      (refused: Refused) => (abort.signal.aborted ? undefined : setError(refused)),
    )
    setRunning(undefined)
  }
  /** Another file, or another treatment of existing records, must be checked again. */
  const reset = (): void => {
    setChecked(undefined)
    setError(undefined)
  }
  const doing = file && running && `${running.isCheck ? 'Checking' : 'Importing'} ${file.name} (${sizeOf(file)})`
  return (
    <form
      class="panel"
      aria-labelledby={id}
      onSubmit={(event) => {
        event.preventDefault()
        submit(true)
      }}
    >
      <h2 id={id}>Import {name} records</h2>
      <p class="quiet" id={`${id}-hint`}>
        {fileTypes.includes('text/csv') && 'CSV, whose first line has the names of fields. '}
        {fileTypes.includes('application/x-ndjson') && 'NDJSON, with a record in each line. '}
        Fields: {fields.map((field) => (field.required ? `${field.name} (required)` : field.name)).join(', ')}.
      </p>
      <label>
        File
        <input
          type="file"
          accept={[...extensions, ...fileTypes].join()}
          aria-describedby={`${id}-hint`}
          disabled={running !== undefined}
          onChange={({ currentTarget: { files } }) => {
            setFile(files?.[0])
            reset()
          }}
          ref={input}
        />
      </label>
      {conflictFields.length > 0 && (
        <label>
          Records that exist already
          <select
            value={conflict}
            disabled={running !== undefined}
            onChange={({ currentTarget: { value } }) => {
              setConflict(value)
              reset()
            }}
          >
            <option value="">are errors</option>
            {conflictFields.map((one) => (
              <option key={one} value={one}>
                are changed, if their {one.split(',').map(title).join(' and ')} is the same
              </option>
            ))}
          </select>
        </label>
      )}
      <p role="status">{doing ? `${doing}…` : checked && outcomeOf(checked, 'can be ')}</p>
      {doing && <progress aria-label={doing} />}
      {error && <FileProblem error={error} />}
      <p class="buttons">
        <button type="submit" class={checked ? undefined : 'primary'} aria-disabled={running !== undefined}>
          Check the file
        </button>
        {checked && checked.created + (checked.updated ?? 0) > 0 && (
          <button type="button" class="primary" aria-disabled={running !== undefined} onClick={() => submit(false)}>
            Import
          </button>
        )}
        <button
          type="button"
          aria-disabled={running?.isCheck === false}
          onClick={() => (running === undefined ? onClose() : running.isCheck && running.abort.abort())}
        >
          {running?.isCheck ? 'Cancel the check' : 'Cancel'}
        </button>
      </p>
    </form>
  )
}

/** Errors of a file, with the lines of their records. */
function FileProblem({ error }: { readonly error: Refused }) {
  const { errors } = error
  if (errors.length === 0) return <Problem error={error} />
  return (
    <div role="alert" class="notice">
      <p>The file is not accepted. Nothing has been written.</p>
      <ul>
        {errors.slice(0, maxErrors).map(({ line, field, message }) => (
          <li key={`${line} ${field}`}>
            {line !== undefined && `line ${line}: `}
            {title(field)} {message}
          </li>
        ))}
      </ul>
      {errors.length >= maxErrors && <p>There may be more errors.</p>}
    </div>
  )
}
