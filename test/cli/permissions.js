const { DataSource, EntitySchema } = require('typeorm')

const { readOnlyRule, Resource, UserAccount, userRule } = require('../../dist')

const isManager = (me) => me.admin === true

class User {}
class Invoice {}
class Line {}
class Note {}
UserAccount()(User)
Resource({
  auth: userRule(),
  scope: (me) => ({ company: me.id }),
  may: { create: isManager, update: { before: { status: 'draft' } }, delete: false },
  preset: () => ({ status: 'draft' }),
  fields: { amount: { read: isManager }, status: { write: false } },
})(Invoice)
Resource({ auth: readOnlyRule(), scope: { through: 'invoice' } })(Line)
Resource({ auth: userRule({ read: 'public' }), ownerField: 'user' })(Note)

const id = { type: 'integer', primary: true }
const entity = (target, columns, relations = {}) =>
  new EntitySchema({ name: target.name, target, columns: { id, ...columns }, relations })
const toOne = (target) => ({ type: 'many-to-one', target, nullable: false })

exports.dataSource = new DataSource({
  type: 'better-sqlite3',
  database: '/no/such/folder/invoices.sqlite',
  entities: [
    entity(User, { username: { type: 'text' }, password: { type: 'text' }, admin: { type: 'boolean' } }),
    entity(Invoice, { company: { type: 'integer' }, status: { type: 'text' }, amount: { type: 'integer' } }),
    entity(Line, {}, { invoice: toOne('Invoice') }),
    entity(Note, {}, { user: toOne('User') }),
  ],
})
