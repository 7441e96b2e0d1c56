const comment = '/* typeorm-resources */'
/** SQL comment at the end of each statement of this service. It identifies the statements in drivers and in logs. */
const endComment = ` ${comment}`
/** SQL comment at the beginning of the statements that are an exception. */
const startComment = `${comment} `

/** Appends the comment that identifies a statement of this service. */
export function withComment(sql: string): string {
  return sql + endComment
}

/** Whether a statement is one of this service, not of the application. */
export function isServiceStatement(sql: string): boolean {
  return sql.endsWith(endComment)
}

/**
 * Marks a statement of this service that runs as one of the application: its rows are objects, and the database does not
 * limit its time. Only a connection that does not answer it is destroyed.
 */
export function withStartComment(sql: string): string {
  return startComment + sql
}

/** Whether a statement is one of this service, or marked by {@link withStartComment}. */
export function hasComment(sql: string): boolean {
  return isServiceStatement(sql) || sql.startsWith(startComment)
}
