/** The notes with ZenStack. */
import { serveZenStack } from './serve-zenstack.mjs'
import { databaseDefault, field, id, model, toMany, toOne } from './zenstack-schema.mjs'

serveZenStack({
  User: model('User', 'users', {
    ...id,
    ...field('username', 'String'),
    ...toMany('notes', 'Note', 'author'),
  }),
  Note: model('Note', 'notes', {
    ...id,
    ...field('title', 'String'),
    ...field('body', 'String'),
    ...field('score', 'Int'),
    ...field('published', 'Boolean'),
    // ZenStack's own default has the suffix "+00:00", which MariaDB rejects.
    ...databaseDefault('created', 'DateTime'),
    ...toOne('author', 'User', 'notes', 'authorId'),
  }),
})
