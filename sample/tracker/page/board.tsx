import type { Session } from './api'
import { About, Heading, Notice, useLive, type ViewProps } from './view'

export const states = ['open', 'doing', 'done'] as const
const pageSize = 20

/** The tasks with their related records, as they are now and after each change. The comments are only counted. */
const watchTasks = ({ api }: Session, query: URLSearchParams, signal: AbortSignal) =>
  api.task.watch(
    { project: query.has('project') ? Number(query.get('project')) : undefined },
    {
      fields: ['title', 'state'],
      include: {
        assignee: { fields: ['username'] },
        project: { fields: ['name'] },
        tags: { fields: ['label'] },
        comments: { count: 'exact', limit: 0 },
      },
      search: query.get('search') ?? '',
      ordering: '-id',
      signal,
    },
  )
type Tasks = ReturnType<typeof watchTasks> extends AsyncIterable<infer List> ? List : never

/** Tasks in columns by state. The query may have a project, words to search for, and the number of a page. */
export function Board({ session, query }: ViewProps) {
  const { data, error } = useLive((signal) => watchTasks(session, query, signal))
  const start = (Number(query.get('page') ?? 1) - 1) * pageSize
  const shown = data?.slice(start, start + pageSize)
  const search = (event: SubmitEvent): void => {
    event.preventDefault()
    const words = (event.currentTarget as HTMLFormElement)['words'].value
    location.hash = `#/board?${new URLSearchParams({ search: words })}`
  }
  return (
    <>
      <Heading text="Board" />
      <search>
        <form onSubmit={search}>
          <input type="search" name="words" aria-label="Words" defaultValue={query.get('search') ?? ''} />
          <button type="submit">Search</button> <a href="#/board">All tasks</a>
        </form>
      </search>
      <Notice error={error} isLoading={data === undefined} />
      {data && <Pager start={start} total={data.length} query={query} />}
      <div class="columns">{shown && states.map((state) => <Column key={state} state={state} tasks={shown} />)}</div>
    </>
  )
}

function Column({ state, tasks }: { readonly state: string; readonly tasks: Tasks }) {
  const own = tasks.filter((task) => task.state === state)
  return (
    <section aria-labelledby={state}>
      <h2 id={state}>
        {state} ({own.length})
      </h2>
      <ul>
        {own.map((task) => (
          <li key={task.id} class="card">
            <a href={`#/task/${task.id}`}>{task.title}</a>
            <About task={task} />
            {task.comments_total} comments
          </li>
        ))}
      </ul>
    </section>
  )
}

interface PagerProps {
  /** Number of tasks before the page. */
  readonly start: number
  readonly total: number
  readonly query: URLSearchParams
}

function Pager({ start, total, query }: PagerProps) {
  const end = Math.min(start + pageSize, total)
  const linkTo = (page: number): string => {
    const next = new URLSearchParams(query)
    next.set('page', String(page))
    return `#/board?${next}`
  }
  const page = start / pageSize + 1
  return (
    <nav aria-label="Pages">
      {end > start && `${start + 1}–${end} of `}
      {total} tasks {page > 1 && <a href={linkTo(page - 1)}>Previous</a>}{' '}
      {end < total && <a href={linkTo(page + 1)}>Next</a>}
    </nav>
  )
}
