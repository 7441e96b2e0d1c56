/** Executes a statement and returns its rows. */
export type RunSql = (sql: string) => Promise<readonly Readonly<Record<string, unknown>>[]>
