import type { Session } from './api'
import { Heading, Notice, useData, type ViewProps } from './view'

/** Loads groups of time entries. All tables of the dashboard add up these groups, so that it needs only one request. */
async function loadGroups({ api }: Session, signal: AbortSignal) {
  const { meta, objects } = await api.entry.aggregate(
    {},
    {
      functions: ['count', 'minutes__sum'],
      by: ['day__week', 'task__project', 'task__project__name', 'person__username'],
      ordering: '-day__week',
      limit: 1000,
      signal,
    },
  )
  // If there are more groups, the last week is incomplete.
  const cutWeek = meta.next === '' ? undefined : objects.at(-1)?.day__week
  return objects.filter(({ day__week }) => day__week !== cutWeek)
}
type Groups = Awaited<ReturnType<typeof loadGroups>>

export function Dashboard({ session }: ViewProps) {
  const { data: groups, error } = useData((signal) => loadGroups(session, signal))
  return (
    <>
      <Heading text="Dashboard" />
      <Notice error={error} isLoading={groups === undefined} />
      {groups && <MinutesByWeek groups={groups} />}
      {groups && <MinutesByPerson groups={groups} />}
    </>
  )
}

function MinutesByWeek({ groups }: { readonly groups: Groups }) {
  // Two companies may have projects with the same name.
  const names = new Map(groups.map(({ task__project, task__project__name }) => [task__project, task__project__name]))
  const row = (title: string, own: Groups): Row => {
    const byProject = Map.groupBy(own, ({ task__project }) => task__project)
    return [title, ...[...names.keys()].map((id) => minutesOf(byProject.get(id) ?? [])), minutesOf(own)]
  }
  const weeks = [...Map.groupBy(groups, ({ day__week }) => day__week)]
  return (
    <Table
      caption="Minutes by week and project"
      columns={['Week of', ...names.values(), 'All projects']}
      rows={[...weeks.map(([week, own]) => row(week, own)), row('All weeks', groups)]}
    />
  )
}

function MinutesByPerson({ groups }: { readonly groups: Groups }) {
  const persons = [...Map.groupBy(groups, ({ person__username }) => person__username)]
  const rows = persons.map(
    ([name, own]): Row => [name ?? 'former colleagues', own.reduce((sum, { count }) => sum + count, 0), minutesOf(own)],
  )
  return <Table caption="Minutes by person" columns={['Person', 'Entries', 'Minutes']} rows={rows} />
}

const minutesOf = (groups: Groups): number => groups.reduce((sum, { minutes__sum }) => sum + (minutes__sum ?? 0), 0)

type Row = readonly [title: string, ...numbers: number[]]
interface TableProps {
  readonly caption: string
  readonly columns: readonly (string | null)[]
  readonly rows: readonly Row[]
}

function Table({ caption, columns, rows }: TableProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable regions must be focusable for keyboard users
    <section class="scroll" aria-label={caption} tabIndex={0}>
      <table>
        <caption>{caption}</caption>
        <thead>
          <tr>
            {columns.map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(([title, ...numbers]) => (
            <tr key={title}>
              <th scope="row">{title}</th>
              {numbers.map((number) => (
                <td>{number}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}
