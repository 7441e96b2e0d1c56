import { Heading, Notice, useAction, type ViewProps } from './view'

/** Downloads time entries as a CSV file. The request needs a token, so a link would not be enough. */
export function Export({ session }: ViewProps) {
  const { error, run } = useAction()
  const download = (event: SubmitEvent): void => {
    event.preventDefault()
    const fields = new FormData(event.currentTarget as HTMLFormElement)
    const filters = [...fields].flatMap(([name, value]) => (value === '' ? [] : [[name, String(value)]]))
    void run(async () => save(await session.exportEntries(new URLSearchParams(filters))))
  }
  return (
    <>
      <Heading text="Export" />
      <form onSubmit={download}>
        <label>
          From <input type="date" name="day__gte" />
        </label>
        <label>
          Until <input type="date" name="day__lte" />
        </label>
        <button type="submit">Download the time entries</button>
      </form>
      <Notice error={error} />
    </>
  )
}

function save(file: Blob): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(file)
  link.download = 'entries.csv'
  link.click()
  URL.revokeObjectURL(link.href)
}
