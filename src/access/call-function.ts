import type { Principal } from './rule'

/**
 * Calls a function in an option of the application, which decides something for a principal.
 * @param title text for messages, such as `the scope of task`
 * @throws {TypeError} if the function returns a promise: a mistake of the application
 */
export function callForPrincipal(
  title: string,
  call: (principal: Principal) => unknown,
  principal: Principal,
): unknown {
  const result = call(principal)
  if (result instanceof Promise) {
    // Otherwise its rejection would end the process.
    result.catch(() => undefined)
    throw new TypeError(`${title} must not be async`)
  }
  return result
}
