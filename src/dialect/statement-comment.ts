const comment = '/* typeorm-resources */'
/** At the end of each statement of this service, in drivers and in logs. */
const endComment = ` ${comment}`
/** At the beginning of statements of this service that run like those of the application. */
const startComment = `${comment} `

/** Marks a statement of this service: its rows are arrays, and its time is limited. */
export function withComment(sql: string): string {
  return sql + endComment
}

/** Whether a statement is marked by {@link withComment}. */
export function isServiceStatement(sql: string): boolean {
  return sql.endsWith(endComment)
}

/**
 * Marks a statement of this service that runs like one of the application: its rows are objects, and the database does not
 * limit its time. But its connection is destroyed if the database does not answer.
 */
export function withStartComment(sql: string): string {
  return startComment + sql
}

/** Whether a statement is marked by {@link withComment} or {@link withStartComment}. */
export function hasComment(sql: string): boolean {
  return isServiceStatement(sql) || sql.startsWith(startComment)
}
