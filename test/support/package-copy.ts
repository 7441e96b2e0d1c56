/** Loads another copy of this package, as a second installation in `node_modules` would be. */
export function loadCopy(): typeof import('typeorm-resources') {
  let copy: typeof import('typeorm-resources') | undefined
  jest.isolateModules(() => {
    copy = require('typeorm-resources')
  })
  if (copy === undefined) throw new Error('the copy was not loaded')
  return copy
}
