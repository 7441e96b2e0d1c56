import type { Session } from './api'
import { About, Heading, Notice, useData, type ViewProps } from './view'

export const states = ['open', 'doing', 'done'] as const
const pageSize = 20

/** One page of tasks with their related records. The comments are only counted. */
const loadTasks = ({ api }: Session, query: URLSearchParams, signal: AbortSignal) =>
  api.task.list(
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
      count: 'exact',
      limit: pageSize,
      page: Number(query.get('page') ?? 1),
      signal,
    },
  )
type Tasks = Awaited<ReturnType<typeof loadTasks>>

/** Tasks in columns by state. The query may have a project, words to search for, and the number of a page. */
export function Board({ session, query }: ViewProps) {
  const { data, error } = useData((signal) => loadTasks(session, query, signal))
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
      {data && <Pager {...data} query={query} />}
      <div class="columns">
        {data && states.map((state) => <Column key={state} state={state} tasks={data.objects} />)}
      </div>
    </>
  )
}

function Column({ state, tasks }: { readonly state: string; readonly tasks: Tasks['objects'] }) {
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

function Pager({ meta, objects, query }: Tasks & { readonly query: URLSearchParams }) {
  const before = (meta.page - 1) * pageSize
  const linkTo = (page: number): string => {
    const next = new URLSearchParams(query)
    next.set('page', String(page))
    return `#/board?${next}`
  }
  return (
    <nav aria-label="Pages">
      {objects.length > 0 && `${before + 1}–${before + objects.length} of `}
      {meta.total} tasks {meta.previous !== '' && <a href={linkTo(meta.page - 1)}>Previous</a>}{' '}
      {meta.next !== '' && <a href={linkTo(meta.page + 1)}>Next</a>}
    </nav>
  )
}
