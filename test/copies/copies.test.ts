import { resolve } from 'node:path'

test('the library and the application use different copies of TypeORM', () => {
  const library = require.resolve('typeorm', { paths: [resolve(__dirname, '../../src/schema')] })
  expect(
    [library, require.resolve('typeorm')].map((path) => path.replace(/^.*\/node_modules\//, '')).toSorted(),
  ).toEqual(['typeorm-0.3/index.js', 'typeorm/index.js'])
})
