/** Thrown if a record has changed after it was read, so that the write has to start again. */
export class ChangedError extends Error {}
