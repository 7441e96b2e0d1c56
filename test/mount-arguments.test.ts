import express from 'express'
import Koa from 'koa'
import { DataSource } from 'typeorm'
import { mountResources } from 'typeorm-resources'

const app = new Koa()
const dataSource = new DataSource({ type: 'better-sqlite3', database: ':memory:' })
const first = 'the first argument of mountResources(app, dataSource, options) must be a Koa application, not '
const second = 'the second argument of mountResources(app, dataSource, options) must be a DataSource of TypeORM, not '
const recipe = '; for Express and Nest see docs/how-to/express-and-nest.md'

test.each<[rule: string, values: readonly unknown[], message: string]>([
  [
    'swapped',
    [dataSource, app],
    'the application and the data source are in the wrong order: write mountResources(app, dataSource, options)',
  ],
  ['missing', [], `${first}undefined`],
  ['only the application', [app], `${second}undefined`],
  ['only the data source', [dataSource], `${first}a DataSource`],
  ['null', [null, dataSource], `${first}null`],
  ['an Express application', [express(), dataSource], `${first}an application of another framework${recipe}`],
  ['a router of Express', [express.Router(), dataSource], `${first}an application of another framework${recipe}`],
  ['the class of applications', [Koa, dataSource], `${first}a function`],
  ['a promise of a data source', [app, Promise.resolve(dataSource)], `${second}a promise: await it`],
  ['the options of a data source', [app, { password: 'canary' }], `${second}another object`],
  ['two applications', [app, app], `${second}a Koa application`],
])('arguments of mountResources: %s', (_, values, message) => {
  const mount: (...parameters: readonly never[]) => unknown = mountResources
  expect(() => mount(...(values as readonly never[]))).toThrow(new TypeError(message))
})
