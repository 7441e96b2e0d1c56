/** Ends the text of each statement of ours: drivers may be told to treat them in a way of their own, and logs whose they are. */
const signature = ' /* typeorm-resources */'

export function sign(sql: string): string {
  return sql + signature
}

/** Whether a text was compiled here. */
export function isOurs(sql: string): boolean {
  return sql.endsWith(signature)
}
