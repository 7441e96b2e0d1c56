export const regions = ['Africa', 'Americas', 'Antarctic', 'Asia', 'Europe', 'Oceania'].map((name) => ({
  id: name,
  name,
}))

/** What is typed into the input of a reference, as a filter of the resource that it refers to. */
export function containsName(text: string): object {
  return text === '' ? {} : { name__contains: text }
}
