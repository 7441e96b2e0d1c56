import { etagOf } from 'typeorm-resources/client'
import type { Session } from './api'
import { states } from './board'
import { About, Heading, Notice, useAction, useData, type ViewProps } from './view'

type State = (typeof states)[number]

/** A task with its comments and their authors. */
const loadTask = ({ api }: Session, id: string, signal: AbortSignal) =>
  api.task.get(id, {
    include: {
      project: { fields: ['name'] },
      assignee: { fields: ['username'] },
      tags: { fields: ['label'] },
      comments: { fields: ['text'], include: { author: { fields: ['username'] } } },
    },
    signal,
  })

/**
 * Changes the state of a task, unless another user has changed it since it was shown. Reads the record again, because the
 * ETag of a record with related records cannot be used for `If-Match`.
 */
async function move(
  { api }: Session,
  { id, state: shown }: { readonly id: number; readonly state: State },
  state: State,
) {
  const current = await api.task.get(id)
  if (current.state !== shown) throw new Error(`Another user has changed the state to ${current.state}.`)
  await api.task.update(id, { state }, { ifMatch: etagOf(current) })
}

export function TaskView({ session, id }: ViewProps & { readonly id: string }) {
  const { data: task, error, reload } = useData((signal) => loadTask(session, id, signal))
  const action = useAction()
  if (task === undefined)
    return [<Heading key="heading" text={`Task ${id}`} />, <Notice key="notice" error={error} isLoading />]
  const addComment = (event: SubmitEvent): void => {
    event.preventDefault()
    const form = event.currentTarget as HTMLFormElement
    void action.run(async () => {
      await session.api.comment.create({ text: form['text'].value, task_id: task.id })
      form.reset()
      reload()
    })
  }
  return (
    <>
      <Heading text={task.title} />
      <About task={task} />
      <label>
        State{' '}
        <select
          value={task.state}
          onChange={({ currentTarget }) =>
            void action.run(() => move(session, task, currentTarget.value as State)).then(reload)
          }
        >
          {states.map((state) => (
            <option key={state}>{state}</option>
          ))}
        </select>
      </label>
      <Notice error={action.error} />
      <h2>Comments</h2>
      <ul>
        {task.comments.map(({ id: comment, text, author }) => (
          <li key={comment} class="card">
            <b>{author?.username ?? 'a former colleague'}</b>
            <p>{text}</p>
          </li>
        ))}
      </ul>
      {task.comments_next !== '' && <p>The newer comments are not shown.</p>}
      <form onSubmit={addComment}>
        <label>
          New comment <input name="text" required maxLength={200} />
        </label>
        <button type="submit">Add</button>
      </form>
    </>
  )
}
