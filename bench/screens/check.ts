/** Brings the responses of all implementations into one form, so that they can be compared. */
import type { Screen } from './requests'

type Json = Readonly<Record<string, unknown>>

const nameOf = (related: unknown): unknown => Object(related).name

/** The records of a page: ours in `objects`, those of nestjs-paginate and ZenStack in `data`. */
function recordsOf(body: unknown): readonly Json[] {
  const { objects, data } = Object(body)
  return objects ?? data ?? body
}

/** The record of a page: nestjs-paginate returns a list of one. */
function recordOf(body: unknown): Json {
  const record = Object(body).data ?? body
  return Array.isArray(record) ? record[0] : record
}

/** The number of comments: ZenStack counts in `_count`. */
const countOf = (task: Json): unknown => task['comments_total'] ?? Object(task['_count']).comments

/** The label of a tag: remult and ZenStack return the rows of the junction table. */
const labelOf = (tag: Json): unknown => tag['label'] ?? Object(tag['tag']).label

const summaries: Readonly<Record<Screen, (body: unknown) => unknown>> = {
  board: (body) =>
    recordsOf(body).map((task) => ({
      id: task['id'],
      title: task['title'],
      status: task['status'],
      project: nameOf(task['project']),
      assignee: nameOf(task['assignee']),
      tags: (task['tags'] as readonly Json[]).map(labelOf).sort(),
      comments: Number(countOf(task)),
    })),
  task: (body) => {
    const { id, title, assignee, comments } = Object(recordOf(body))
    const list: readonly Json[] = Object(comments).objects ?? comments
    const shown = list.map((comment) => ({
      id: comment['id'],
      text: comment['text'],
      author: nameOf(comment['author']),
    }))
    return { id, title, assignee: nameOf(assignee), comments: shown.sort((a, b) => Number(a.id) - Number(b.id)) }
  },
}

/** The records of a response, in a form that is the same for all implementations. */
export const summaryOf = (screen: Screen, body: unknown): string => JSON.stringify(summaries[screen](body))
