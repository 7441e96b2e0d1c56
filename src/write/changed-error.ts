/** Thrown if a record has changed after it was read, so that the write must be repeated. */
export class ChangedError extends Error {}
