/** An error of the command's user, whose message is printed without a stack. */
export class CommandError extends Error {
  /** @param code exit code of the process: 2 for wrong arguments, 130 after Ctrl+C, otherwise 1 */
  constructor(
    message: string,
    readonly code: 1 | 2 | 130,
  ) {
    super(message)
  }
}

/** Message of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
