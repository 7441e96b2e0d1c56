import { useEffect, useState } from 'preact/hooks'
import { fetchFile, type Refused, root } from './api'
import { parameterIn } from './filter-field'
import type { Resource } from './model'
import { Problem } from './problem'
import { pathOf } from './route'
import { useError, useSession } from './session'

interface DownloadProps {
  readonly resource: Resource
  readonly query: URLSearchParams
}

/** Parameters of a page, which a file with all records does not have. */
const pageParameters: readonly string[] = ['limit', 'page', 'after', 'count', 'include', 'aggregate', 'by']

/** Path of a list as CSV: its filters, ordering and fields. */
function csvPath({ name, filters }: Resource, query: URLSearchParams): string {
  const kept = [...query].filter(
    ([parameter]) => !pageParameters.includes(parameter) || parameterIn(filters, query, parameter) === undefined,
  )
  return pathOf(`/${name}/`, new URLSearchParams([...kept, ['format', 'csv']]))
}

/**
 * Link to download all records of the list as CSV. Signed-in users have a button, which sends their credentials: a link
 * does not.
 */
export function Download({ resource, query }: DownloadProps) {
  const { user } = useSession()
  if (!resource.hasCsv) return null
  const path = csvPath(resource, query)
  if (user) return <FetchButton path={path} name={`${resource.name}.csv`} />
  return (
    <a class="button" href={root + path} download={`${resource.name}.csv`}>
      Download CSV
    </a>
  )
}

/** Button that fetches a file completely before the browser saves it, so that users never get an incomplete file. */
function FetchButton({ path, name }: { readonly path: string; readonly name: string }) {
  const { user } = useSession()
  const [running, setRunning] = useState<AbortController>()
  const [error, setError] = useError()
  // Leaving the list cancels the download.
  useEffect(() => () => running?.abort(), [running])
  const download = async (): Promise<void> => {
    const abort = new AbortController()
    setRunning(abort)
    setError(undefined)
    await fetchFile(path, user, abort.signal).then(
      (file) => save(file, name),
      (refused: Refused) => (abort.signal.aborted ? undefined : setError(refused)),
    )
    setRunning((current) => (current === abort ? undefined : current))
  }
  return (
    <>
      {running ? (
        <button type="button" onClick={() => running.abort()}>
          Cancel the download
        </button>
      ) : (
        <button type="button" onClick={download}>
          Download CSV
        </button>
      )}
      <span role="status" class="quiet">
        {running ? 'Downloading…' : ''}
      </span>
      {error && <Problem error={error} />}
    </>
  )
}

/** Lets the browser save a file. */
function save(file: Blob, name: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(file)
  link.download = name
  link.click()
  // Browsers read the file after the click.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
}
