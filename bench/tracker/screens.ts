import { counts, pageSize } from './data'

/** Sends a GET request with a path relative to the service. @returns the body */
export type Get = (path: string) => Promise<string>

/** A view of the page. */
export interface Screen {
  readonly name: string
  /** Request of the page (sample/tracker/page) to the service. */
  readonly path: string
  /** Path of the hand-written endpoint. */
  readonly ownPath: string
  /** The requests that a page needs without includes, aggregates, counts and formats, in this order. */
  readonly separate: (get: Get) => Promise<void>
}

interface Item {
  readonly id: number
  readonly project_id: number
  readonly assignee_id: number
  readonly author_id: number
}
const objectsOf = (body: string): readonly Item[] => JSON.parse(body).objects
const unique = (ids: readonly number[]): string => [...new Set(ids)].join()

const persons = 'person/?limit=1000'
const taskFields = 'project(fields:name),assignee(fields:username),tags(fields:label)'
const lastTask = counts.tasks

/** Reads all pages of a list with the largest possible pages. */
async function readAll(get: Get, path: string): Promise<void> {
  for (let page = 1, next = path; next !== ''; page++) {
    next = JSON.parse(await get(next)).meta.next === '' ? '' : `${path}&page=${page + 1}`
  }
}

/** Tasks of a page, their projects, assignees and comments, all tags, and the tasks of each tag. */
async function readBoard(get: Get): Promise<void> {
  const tasks = objectsOf(await get(`task/?ordering=-id&limit=${pageSize}`))
  const ids = unique(tasks.map(({ id }) => id))
  await get(`project/?id__in=${unique(tasks.map(({ project_id }) => project_id))}&limit=1000`)
  await get(`person/?id__in=${unique(tasks.map(({ assignee_id }) => assignee_id))}&limit=1000`)
  await get(`comment/?task__in=${ids}&limit=1000`)
  for (const { id } of objectsOf(await get('tag/'))) await get(`task/?id__in=${ids}&tags__id=${id}&limit=1000`)
}

async function readTask(get: Get): Promise<void> {
  const task: Item = JSON.parse(await get(`task/${lastTask}/`))
  await get(`project/${task.project_id}/`)
  await get(`person/${task.assignee_id}/`)
  await get(`tag/?tasks__id=${task.id}`)
  const comments = objectsOf(await get(`comment/?task=${task.id}&limit=100`))
  await get(`person/?id__in=${unique(comments.map(({ author_id }) => author_id))}&limit=100`)
}

async function readDashboard(get: Get): Promise<void> {
  await readAll(get, 'entry/?limit=1000')
  await get('task/?limit=1000')
  await get('project/?limit=1000')
  await get(persons)
}

const board: Screen = {
  name: 'board',
  path: `task/?fields=title,state&include=${taskFields},comments(count:exact,limit:0)&ordering=-id&count=exact&limit=${pageSize}&page=1`,
  ownPath: '/board',
  separate: readBoard,
}

export const screens: readonly Screen[] = [
  board,
  // The number of all tasks, which is part of the board. Without `count`, it is known at the end of the last page.
  { ...board, name: 'number of tasks', separate: (get) => readAll(get, `task/?limit=${pageSize}`) },
  {
    name: 'task',
    path: `task/${lastTask}/?include=${taskFields},comments(fields:(text),include:(author(fields:username)))`,
    ownPath: `/task/${lastTask}`,
    separate: readTask,
  },
  {
    name: 'dashboard',
    path: 'entry/?aggregate=count,minutes__sum&by=day__week,task__project,task__project__name,person__username&ordering=-day__week&limit=1000',
    ownPath: '/dashboard',
    separate: readDashboard,
  },
  {
    name: 'export',
    path: 'entry/?format=csv&ordering=day',
    ownPath: '/export',
    separate: (get) => readAll(get, 'entry/?limit=1000&ordering=day'),
  },
]
