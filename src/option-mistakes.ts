import type { Report } from './errors'

/**
 * Reports unknown options, which the compiler may have missed.
 * @param allowed an object whose keys are the names of the options
 */
export function checkOptionNames(options: object, allowed: Readonly<Record<string, unknown>>, report: Report): void {
  for (const name of Object.keys(options)) {
    if (Object.hasOwn(allowed, name)) continue
    const similar = Object.keys(allowed).find((one) => areSimilar(one.toLowerCase(), name.toLowerCase()))
    const advice = similar === undefined ? '' : `use "${similar}"; `
    report(`unknown option "${name}"; ${advice}options: ${Object.keys(allowed).join(', ')}`)
  }
}

/** Whether two names are equal, or one begins or ends with the other. */
function areSimilar(name: string, other: string): boolean {
  const [short, long] = name.length < other.length ? [name, other] : [other, name]
  return short.length >= 4 && (long.startsWith(short) || long.endsWith(short))
}

/** Reports options whose value is `undefined`: their defaults would permit more than intended. */
export function requireDefined<Options extends object>(
  options: Options,
  names: readonly (keyof Options & string)[],
  report: Report,
): void {
  for (const name of names) {
    if (isUndefined(options, name)) report(undefinedOption(name))
  }
}

/** The mistake that an option is given with the value `undefined`. @param cause what the developer should look for */
export function undefinedOption(name: string, cause = 'a circular import'): string {
  return `"${name}" is undefined; check for ${cause}`
}

/** Whether an option is given, with the value `undefined`. */
export function isUndefined(options: object, name: string): boolean {
  return Object.hasOwn(options, name) && Reflect.get(options, name) === undefined
}
