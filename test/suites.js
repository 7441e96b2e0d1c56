/**
 * Which suites of `test/http` run on which legs. Their number times the number of legs is the time of the whole run, so a suite runs
 * where its subject can make a difference. A suite that is not named here runs on one leg of each database. At night, and for a suite
 * that is named on the command line, all run on all legs.
 */

/**
 * Suites about metadata, entities, events and errors of TypeORM, and about values that a driver converts: they run on all legs, except
 * those with `runs: 'conformance'` (legs.js).
 */
const typeorm = [
  ...['account-columns', 'accounts', 'altered', 'binary-keys', 'bulk', 'cascades', 'columns', 'computed'],
  ...['deleted-relations', 'embedded', 'embedded-relations', 'entities', 'entity-order', 'exact-numbers', 'faults'],
  ...['hidden-references', 'hstore', 'idempotency', 'inherited-columns', 'inherited-relations', 'keys', 'keyset'],
  ...['lifecycle', 'listener-events', 'listener-principal', 'listeners-late', 'live-lists', 'models', 'mounting'],
  ...[
    'names',
    'nested-writes',
    'null-values',
    'overridden-columns',
    'prototype-keys',
    'queries-in-transactions',
    'redeclared-columns',
  ],
  ...['redeclared-relations', 'related-keys', 'relations', 'restoring', 'schema-inheritance', 'shapes', 'shared-keys'],
  ...['statements', 'transformed-dates', 'transformed-types', 'trees', 'tree-rules', 'types', 'updates', 'upserts'],
  ...['validation', 'virtual-columns'],
]

/** Suites about SQL and transactions: they run with each driver, on one version of TypeORM. */
const drivers = [
  ...[
    'audit',
    'audit-entities',
    'batch',
    'batch-transactions',
    'bound-objects',
    'change-events',
    'client-keys',
    'collations',
  ],
  ...['concurrent-updates', 'conditional', 'counts', 'database-rules', 'decimal-numbers', 'deferred', 'differences'],
  ...[
    'filter-objects',
    'groups',
    'hidden-types',
    'idempotency-table',
    'imports',
    'included-tags',
    'includes',
    'indexes',
  ],
  ...['nested-conflicts', 'nested-keys', 'orderings', 'owners', 'paging', 'passwords', 'permissions', 'problems'],
  ...[
    'refusals',
    'rounded-values',
    'row-scopes',
    'search',
    'search-index',
    'selected-fields',
    'session-settings',
    'stored-decimals',
  ],
  ...['unreadable-references', 'vanished-pages', 'write-statements'],
]

/** Suites about HTTP, logins, clients and documents, which do not depend on the database: they run on the leg with `runs: 'all'`. */
const withoutDatabase = [
  ...['admin-auth', 'authenticators', 'bearer-tokens', 'body-parsers', 'browsers', 'client', 'client-credentials'],
  ...['client-watch', 'custom-actions', 'failed-logins', 'field-permission-mistakes', 'forged-tokens', 'live-fairness'],
  ...['many-passwords', 'mcp', 'mcp-rules', 'openapi', 'openapi-lists', 'operation', 'pages', 'password-queue'],
  ...[
    'password-time',
    'profile-memory',
    'react-admin',
    'refine',
    'rules',
    'slow-clients',
    'small-chunks',
    'suggestions',
    'tracker-authentication',
  ],
]

module.exports = { typeorm, drivers, withoutDatabase }
