/** White space and comments before a statement. */
const leading = String.raw`^(?:\s|--[^\n]*\n|/\*.*?\*/)*`
export const beginPattern = new RegExp(String.raw`${leading}(?:BEGIN\b|SAVEPOINT\s+(\S+))`, 'is')
export const endPattern = new RegExp(
  String.raw`${leading}(?:COMMIT\b|END\b|ROLLBACK\b(?!\s+(?:TRANSACTION\s+)?TO\b))`,
  'is',
)
export const releasePattern = new RegExp(String.raw`${leading}RELEASE\s+(?:SAVEPOINT\s+)?(\S+)`, 'is')
export const rollbackPattern = new RegExp(String.raw`${leading}ROLLBACK\b`, 'is')

/** Matches statements that SQLite refuses while the database has a second connection. */
export const modePattern = /\bPRAGMA\b.*\b(?:journal|locking)_mode\b/is

/** Matches reads, if the statement is one of this service. */
export const selectPattern = /^\s*SELECT\b/

/** Matches lists, also included ones, and counts of this service, which may read many rows. Its other statements find rows by their keys. */
export const listPattern = /^\s*SELECT\b.*(?:\bLIMIT \?|\bCOUNT\(\*\)|\bOVER \()/s
