import { DataSource } from 'typeorm'
import { optionsFor } from '../database'
import { commentsPerTask, entities, personCount, projectCount, tagCount, taskCount } from './model'

const rowsPerInsert = 100

/** Creates the tables of the tracker and fills them. Existing tables of the database are dropped. */
export async function seed(database: string): Promise<void> {
  const source = await new DataSource({
    ...optionsFor(database),
    entities,
    synchronize: true,
    dropSchema: true,
  }).initialize()
  const isPostgres = source.options.type === 'postgres'
  const fill = async (table: string, count: number, build: (index: number) => Record<string, unknown>) => {
    const columns = Object.keys(build(0))
    for (let start = 0; start < count; start += rowsPerInsert) {
      const rows = Array.from({ length: Math.min(rowsPerInsert, count - start) }, (_, index) => build(start + index))
      const marks = rows.map(
        (_, row) =>
          `(${columns.map((_column, index) => (isPostgres ? `$${row * columns.length + index + 1}` : '?')).join()})`,
      )
      await source.query(
        `INSERT INTO ${table} (${columns.join()}) VALUES ${marks.join()}`,
        rows.flatMap((row) => Object.values(row)),
      )
    }
  }
  await fill('person', personCount, (index) => ({ name: `person ${index}` }))
  await fill('project', projectCount, (index) => ({ name: `project ${index}` }))
  await fill('tag', tagCount, (index) => ({ label: `tag ${index}` }))
  await fill('task', taskCount, (index) => ({
    title: `task ${index}`,
    status: index % 3 === 0 ? 'done' : 'open',
    project_id: 1 + (index % projectCount),
    assignee_id: 1 + (index % personCount),
  }))
  await fill('task_tag', taskCount * 2, (index) => ({
    task_id: 1 + (index >> 1),
    tag_id: 1 + ((index * 7) % tagCount),
  }))
  await fill('comment', taskCount * commentsPerTask, (index) => ({
    text: 'A comment of about the length that comments have, which is a line or two.',
    author_id: 1 + (index % personCount),
    task_id: 1 + (index % taskCount),
  }))
  await source.query(
    isPostgres ? 'VACUUM ANALYZE' : source.options.type === 'mariadb' ? 'ANALYZE TABLE task, comment' : 'ANALYZE',
  )
  await source.destroy()
}
