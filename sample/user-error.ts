/** What the person who started the sample got wrong, in a sentence. */
export class UserError extends Error {}
