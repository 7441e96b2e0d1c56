/** Options of a user account that stores passwords without hashing them, so that logins are fast. */
export const unhashed = {
  hash: (plain: string): string => plain,
  verify: (plain: string, stored: string): boolean => plain === stored,
}
