/** Ends the text of each statement of ours: drivers may be told to treat them in a way of their own, and logs whose they are. */
const comment = ' /* typeorm-resources */'

/** The statement as it is sent. */
export function withComment(sql: string): string {
  return sql + comment
}

/** Whether a text was compiled here. */
export function isOurs(sql: string): boolean {
  return sql.endsWith(comment)
}
