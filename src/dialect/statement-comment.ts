/** SQL comment at the end of each statement of this service. It identifies the statements in drivers and in logs. */
const comment = ' /* typeorm-resources */'

/** Appends the comment that identifies a statement of this service. */
export function withComment(sql: string): string {
  return sql + comment
}

/** Whether a statement is one of this service, not of the application. */
export function isServiceStatement(sql: string): boolean {
  return sql.endsWith(comment)
}
