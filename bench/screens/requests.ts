import type { Engine } from '../engines'
import { projectCount, taskCount } from './model'

export type Screen = 'board' | 'task'

/** One of the implementations that are compared. */
export interface Implementation {
  readonly name: string
  /** The compiled server, relative to the folder `dist/screens`. */
  readonly server: string
  /** Default: all. */
  readonly engines?: readonly Engine[]
  readonly paths: Readonly<Record<Screen, (pick: number) => string>>
}

const project = (pick: number): number => 1 + (pick % projectCount)
const task = (pick: number): number => 1 + (pick % taskCount)
const peers = '../../peers/dist/peers/screens'
const plain = {
  board: (pick: number) => `/board/${project(pick)}`,
  task: (pick: number) => `/task/${task(pick)}`,
}
const boardQuery = 'limit=20&include=project(fields:name),assignee(fields:name),tags,comments(count:exact,limit:0)'
const taskQuery = 'include=assignee(fields:name),comments(include:author(fields:name))'

function zenStack(operation: string, query: object): string {
  return `/model/task/${operation}?q=${encodeURIComponent(JSON.stringify(query))}`
}

export const implementations: readonly Implementation[] = [
  {
    name: 'ours',
    server: 'ours.js',
    paths: {
      board: (pick) => `/api/task/?project=${project(pick)}&${boardQuery}`,
      task: (pick) => `/api/task/${task(pick)}/?${taskQuery}`,
    },
  },
  { name: 'handwritten', server: 'handwritten.js', paths: plain },
  { name: 'find', server: 'find.js', paths: plain },
  { name: 'remult', server: `${peers}/remult.mjs`, paths: plain },
  {
    name: 'nestjs-paginate',
    server: `${peers}/nest-paginate.js`,
    paths: {
      board: (pick) => `/board?filter.project.id=${project(pick)}&limit=20`,
      task: (pick) => `/task?filter.id=${task(pick)}&limit=-1`,
    },
  },
  {
    name: 'zenstack',
    server: `${peers}/zenstack.mjs`,
    // The dialect for MySQL reads related records with LATERAL, which MariaDB does not support.
    engines: ['sqlite', 'postgres'],
    paths: {
      board: (pick) =>
        zenStack('findMany', {
          where: { project_id: project(pick) },
          orderBy: { id: 'asc' },
          take: 20,
          include: {
            project: true,
            assignee: true,
            tags: { select: { tag: true } },
            _count: { select: { comments: true } },
          },
        }),
      task: (pick) =>
        zenStack('findUnique', {
          where: { id: task(pick) },
          include: { assignee: true, comments: { include: { author: true } } },
        }),
    },
  },
]
