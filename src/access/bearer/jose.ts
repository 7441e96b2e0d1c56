/** The package that verifies JSON Web Tokens. */
export type Jose = typeof import('jose')

/**
 * Loads the package `jose`, which is an ES module: Node.js has been able to load these by `require` since 20.19. Only sites with
 * `bearer()` load it (docs/decisions/README.md).
 */
export function loadJose(): Jose {
  return require('jose')
}
