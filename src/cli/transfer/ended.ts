import { CommandError, messageOf } from '../command-error'

/** The error of a transfer that did not complete. @param advice what has been done, and how to go on; may be empty */
export function ended(error: unknown, signal: AbortSignal, advice: string): unknown {
  const advised = (message: string, separator: string, code: CommandError['code']): CommandError =>
    new CommandError(advice === '' ? message : `${message}${separator}${advice}`, code)
  if (signal.aborted) return advised('Interrupted.', ' ', 130)
  if (error instanceof CommandError) return advised(error.message, '\n', error.code)
  // A file cannot be read or written, for example because the disk is full.
  if (error instanceof Error && 'syscall' in error) return advised(messageOf(error), '\n', 1)
  return error
}
