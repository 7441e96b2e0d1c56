import { inspect } from 'node:util'
import Koa from 'koa'
import {
  Column,
  DataSource,
  Entity,
  type EntityTarget,
  JoinColumn,
  ManyToOne,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type Relation,
  Tree,
  TreeChildren,
  TreeParent,
  VirtualColumn,
} from 'typeorm'
import {
  ApiKeys,
  adminRule,
  basic,
  ConfigError,
  custom,
  IdempotencyKey,
  type MountOptions,
  mountResources,
  type Principal,
  Resource,
  readOnlyRule,
  UserAccount,
  userRule,
} from 'typeorm-resources'
import { AuditLine } from './support/audit-line'
import { openDataSource } from './world/world'

@Entity()
class User {
  @PrimaryGeneratedColumn() id!: number
  @Column({ unique: true }) username!: string
  @Column() password!: string
}

@Entity()
class Tag {
  @PrimaryGeneratedColumn() id!: number
}

@Entity()
class Note {
  @PrimaryGeneratedColumn() id!: number
  @Column() title!: string
  @ManyToOne(() => Tag) tag!: Tag
  @ManyToOne(() => User) user!: User
}

@Entity()
class Hen {
  @PrimaryGeneratedColumn() id!: number
  @ManyToOne(() => Egg, { nullable: true }) egg!: Relation<Egg> | null
}

@Entity()
class Egg {
  @PrimaryGeneratedColumn() id!: number
  @ManyToOne(() => Hen, { nullable: true }) hen!: Relation<Hen> | null
}

class Inner {
  @Column() city!: string
}

@Entity()
class Odd {
  @PrimaryGeneratedColumn() id!: number
  @Column() a__b!: string
  @Column() c_!: string
  @Column() tag_id!: string
  @ManyToOne(() => Tag) @JoinColumn({ name: 'fk' }) tag!: Tag
  @Column(() => Inner) inner!: Inner
}

@Entity()
class Pair {
  @PrimaryColumn() a!: number
  @PrimaryColumn() b!: number
}

@Entity()
class Renamed {
  @PrimaryColumn() code!: string
  @Column() id!: string
}

class Code {
  @PrimaryColumn() country!: number
  @PrimaryColumn() region!: number
}

@Entity()
class Coded {
  @Column(() => Code) id!: Code
}

@Entity()
class Profiled {
  @PrimaryGeneratedColumn() id!: number
  @Column() title!: string
  @Column(() => Inner) profile!: Inner
}

@Entity()
class Timed {
  @PrimaryColumn({ type: 'datetime' }) at!: Date
}

@Entity()
@Tree('materialized-path')
class Branch {
  @PrimaryGeneratedColumn() id!: number
  @TreeParent() parent!: Branch | null
  @TreeChildren() children!: Branch[]
}

@Entity()
class ByName {
  @PrimaryGeneratedColumn() id!: number
  @ManyToOne(() => User) @JoinColumn({ referencedColumnName: 'username' }) user!: User
}

@Entity()
class Short {
  @PrimaryGeneratedColumn() id!: number
  @Column() username!: string
  @Column({ length: 60 }) password!: string
}

@Entity()
class Flagged {
  @PrimaryGeneratedColumn() id!: number
  @Column() username!: string
  @Column() password!: string
  @Column() admin!: string
  @Column({ type: 'simple-enum', enum: ['yes', 'no'] }) active!: string
}

@Entity()
class Virtual {
  @PrimaryGeneratedColumn() id!: number
  @VirtualColumn({ query: () => 'SELECT 1' }) count!: number
}

@Entity()
@UserAccount()
class Decorated {
  @PrimaryGeneratedColumn() id!: number
  @Column() username!: string
  @Column() password!: string
}

/** Two foreign keys share a column that is not a property. */
@Entity()
class Shared {
  @PrimaryGeneratedColumn() id!: number
  @ManyToOne(() => Tag) @JoinColumn({ name: 'a' }) tag!: Tag
  @ManyToOne(() => Pair)
  @JoinColumn([
    { name: 'a', referencedColumnName: 'a' },
    { name: 'b', referencedColumnName: 'b' },
  ])
  pair!: Pair
}

@Entity()
class Inherited {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'varchar' }) valueOf!: never
}

const entities = [
  Hen,
  Egg,
  Shared,
  Inherited,
  User,
  Tag,
  Note,
  Odd,
  Pair,
  Renamed,
  Coded,
  Profiled,
  Timed,
  Branch,
  ByName,
  Short,
  Virtual,
  Flagged,
  IdempotencyKey,
]
const users = { entity: User }

/** The lines of the error message of a mount, without the first. */
const mistakesOf = async (options: object, ...others: readonly EntityTarget<object>[]): Promise<readonly string[]> => {
  const dataSource = await openDataSource([...entities, ...others] as never)
  try {
    mountResources(new Koa(), dataSource, options)
    return []
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError)
    return (error as ConfigError).mistakes
  } finally {
    await dataSource.destroy()
  }
}

test.each<[string, object, readonly string[]]>([
  ['nothing to mount', {}, ['no entity of the data source is a resource']],
  [
    'the entity of stored responses as a resource',
    { resources: [{ entity: IdempotencyKey }] },
    ['IdempotencyKey cannot be a resource: it has the responses to all principals'],
  ],
  [
    'limits of stored responses that are not integers from 1',
    { resources: [{ entity: Tag }], limits: { idempotencyTime: 0, idempotencyBytes: 1.5 } },
    [
      '"limits.idempotencyTime" must be an integer from 1, not 0',
      '"limits.idempotencyBytes" must be an integer from 1, not 1.5',
    ],
  ],
  [
    'intervals of live lists that are longer than those of Node.js',
    { resources: [{ entity: Tag }], limits: { liveHeartbeat: 2 ** 31, liveCheck: 1e12 } },
    [
      '"limits.liveHeartbeat" must be at most 2147483647: Node.js repeats longer intervals every millisecond',
      '"limits.liveCheck" must be at most 2147483647',
    ],
  ],
  [
    'mistakes of a resource whose rule is one, too',
    { resources: [{ entity: Tag, auth: 'user', bulk: -1, may: { change: true }, search: ['nobody'], formats: 'xml' }] },
    [
      '"auth" must be a rule: readOnlyRule(), userRule(), adminRule(), or a function that returns the principal; it is "user"',
      '"bulk" must be true, false or an integer from 1, not -1',
      '"may" has "change"; actions: create, update, delete, restore',
      'unknown property "nobody" in "search"',
      '"formats" must be true, false or an array of ndjson, csv, not "xml"',
    ],
  ],
  [
    'an unknown option',
    { prefx: '/x', auth: userRule(), resources: [{ entity: Tag }] },
    ['unknown option "prefx"; options: prefix, defaultAuth', 'unknown option "auth"; use "defaultAuth"; options: '],
  ],
  [
    'classes where objects belong',
    { users: Note, resources: [Note, { entity: Tag }] },
    [
      '"users" must be { entity: SomeClass, … }, not the class Note',
      '"resources" must be an array of { entity: SomeClass, … }, not ["the class Note",{"entity":"the class Tag"}]',
    ],
  ],
  [
    'options of a resource with the wrong type',
    { resources: [{ entity: Note, name: 5, rename: 'title', exclude: 'title', readOnly: {} }] },
    [
      'Note: "name" must be a string, not 5',
      `Note: "rename" must be an object such as { title: 'name' }, not "title"`,
      'Note: "exclude" must be an array of properties, not "title"',
      'Note: "readOnly" must be an array of properties, not {}',
    ],
  ],
  [
    'a search that is no list',
    { resources: [{ entity: Note, search: 'title' }] },
    ['Note: "search" must be an array of properties, not "title"'],
  ],
  [
    'relations that cannot be included',
    { resources: [{ entity: Note, includes: ['title', 'tag', 'user'], exclude: ['user'] }] },
    [
      'Note: "includes" names "title", which is not a relation; relations: tag, user',
      'Note: "includes" names "tag", which leads to Tag, which is not a resource or hides the relation',
      'Note: "includes" names "user", which is in "exclude"; remove it from one of them',
    ],
  ],
  [
    'includes that are no list',
    { resources: [{ entity: Note, includes: 'tag' }, { entity: Tag }] },
    ['Note: "includes" must be an array of relations, not "tag"'],
  ],
  [
    'an invalid prefix',
    { prefix: 'api', resources: [{ entity: Tag }] },
    ['"prefix" must be a path such as "/api", not "api"'],
  ],
  [
    'a default page size that exceeds the maximum',
    { limit: { default: 30, max: 10 }, resources: [{ entity: Tag }] },
    ['"limit" must be { default, max }'],
  ],
  [
    'a maximum page size that exceeds the number of records in all pages',
    { limit: { max: 1_000_001 }, resources: [{ entity: Tag }] },
    ['"limit.max" is 1000001, more than the 1000000 records'],
  ],
  [
    'keyset paging with a field that has the name of its parameter',
    { resources: [{ entity: Note, paging: 'keyset', rename: { title: 'after' } }] },
    ['Note: "paging" is "keyset", but a field has the name of its parameter "after": set another name with "rename"'],
  ],
  [
    'an unknown property whose values are aggregated',
    { resources: [{ entity: Note, aggregate: ['nope'] }] },
    ['Note: unknown property "nope" in "aggregate"; properties: '],
  ],
  [
    'aggregates that are neither true nor a list',
    { resources: [{ entity: Note, aggregate: 'title' }] },
    ['Note: "aggregate" must be true, false or an array of properties, not "title"'],
  ],
  [
    'a maximum number of records of bulk writes that is no integer',
    { resources: [{ entity: Note, bulk: 0 }] },
    ['Note: "bulk" must be true, false or an integer from 1, not 0'],
  ],
  [
    'aggregates with a field that has the name of their parameter',
    { resources: [{ entity: Note, aggregate: true, rename: { title: 'by' } }] },
    ['Note: "aggregate" is set, but a field has the name "by": set another one with "rename"'],
  ],
  [
    'options of the wrong type',
    {
      prefix: null,
      limit: [],
      limits: 5,
      allowedOrigins: null,
      pagingSecret: 'too short',
      waitLimit: 2 ** 31,
      passwordChange: 'yes',
      batch: 0,
      mcp: 'yes',
      failedLogins: { byName: {}, password: 'canary' },
      sqliteLock: null,
      health: 'yes',
      openapi: 'public',
      info: { title: 5 },
      explorer: 'no',
      defaultAuth: 'user',
      users: null,
      resources: [{ entity: Tag, requireIfMatch: 'yes', paging: 'pages by key', description: 5 }],
    } as unknown as MountOptions,
    [
      '"prefix" must be a path such as "/api", not null',
      '"limit" must be { default, max } with integers, not []',
      '"limits" must be an object of limits, not 5',
      '"allowedOrigins" must be an array of origins such as "https://example.org", not null',
      '"pagingSecret" must be a string of at least 16 characters, not a shorter one',
      '"waitLimit" must be milliseconds from 1 to 2147483647, not 2147483648',
      '"sqliteLock" must be true or false, not null',
      '"health" must be true or false, not "yes"',
      '"passwordChange" must be true or false, not "yes"',
      '"batch" must be true, false or the maximum number of operations, an integer from 1, not 0',
      '"mcp" must be true or false, not "yes"',
      '"failedLogins" must be { byName, byAddress } with limiters of rate-limiter-flexible, such as ' +
        'new RateLimiterMemory({ … }), not an object with byName, password',
      '"openapi" must be true, false or a rule such as userRule(), not "public"',
      '"info" must be { title, version, description, contact, license } with strings for the first three and objects for the others, not {"title":5}',
      '"explorer" must be true or false, not "no"',
      '"defaultAuth" must be a rule such as userRule(), not "user"',
      '"users" must be { entity: SomeClass, … }, not null',
      '"requireIfMatch" must be true or false, not "yes"',
      '"paging" must be "pages" or "keyset", not "pages by key"',
      '"description" must be a string, not 5',
    ],
  ],
  [
    'the explorer without the document that it shows',
    { openapi: false, explorer: true, resources: [{ entity: Tag }] },
    ['"explorer" requires "openapi", which is false'],
  ],
  [
    'invalid limits and origins',
    {
      limits: { filter: 5, filters: 0, joins: 15 } as object,
      allowedOrigins: ['https://a.example/', 'localhost:5173', '*', 5],
      resources: [{ entity: Tag }],
    },
    [
      'unknown limit "filter"; limits: parameters, ',
      '"limits.filters" must be an integer from 1, not 0',
      '"limits.joins" must be at most 14: statements could have more values than databases accept',
      '"allowedOrigins" has "https://a.example/"; an origin is a scheme and a host, such as "https://a.example"',
      '"allowedOrigins" has "localhost:5173"; an origin is a scheme and a host, such as "http://localhost:5173"',
      '"allowedOrigins" has "*"; an origin is a scheme and a host, such as "https://example.org"',
      '"allowedOrigins" has 5; an origin is a scheme and a host, such as "https://example.org"',
    ],
  ],
  [
    'a default maximum page size that exceeds limits.depth',
    { limits: { depth: 500 }, resources: [{ entity: Tag }] },
    ['"limit.max" is 1000, more than the 500 records that "limits.depth" permits'],
  ],
  ['a limit of 0', { limit: { default: 0 }, resources: [{ entity: Tag }] }, ['"limit" must be { default, max }']],
  [
    'an unknown name in exclude',
    { resources: [{ entity: Note, exclude: ['titel'] }] },
    ['Note: unknown property "titel" in "exclude"; properties: id, title, tag, user'],
  ],
  [
    'an unknown name in readOnly',
    { resources: [{ entity: Note, readOnly: ['x'] }] },
    ['Note: unknown property "x" in "readOnly"'],
  ],
  [
    'a row scope of another type',
    {
      resources: [
        { entity: Tag, scope: 'mine' },
        { entity: Note, scope: { through: 'tag', also: 'user' } },
      ],
    },
    [
      'Tag: "scope" must be a function that returns a filter, { through: "a relation" } or "all"',
      'Note: "scope" must be a function that returns a filter, { through: "a relation" } or "all"',
    ],
  ],
  [
    'a row scope through a property that is not a relation to one record',
    {
      resources: [
        { entity: Note, scope: { through: 'title' } },
        { entity: Tag, scope: { through: 'notes' } },
      ],
    },
    [
      'Note: "scope" follows "title", which is not a relation to one record; relations to one record: tag, user',
      'Tag: "scope" follows "notes", which is not a relation to one record; the entity has none',
    ],
  ],
  [
    'a row scope through an entity that is not a resource',
    { resources: [{ entity: Note, scope: { through: 'tag' } }] },
    ['Note: "scope" follows "tag" to Tag, which is not a resource'],
  ],
  [
    'a row scope through a resource without a row scope, which would restrict nothing',
    { resources: [{ entity: Tag }, { entity: Note, scope: { through: 'tag' } }] },
    [
      'Note: "scope" follows "tag" to Tag, which has no "scope"; if everybody may see the records of Tag, set its scope: "all"',
    ],
  ],
  [
    'row scopes in a circle',
    {
      resources: [
        { entity: Hen, scope: { through: 'egg' } },
        { entity: Egg, scope: { through: 'hen' } },
      ],
    },
    [
      'Hen: "scope" follows relations in a circle: Hen → Egg → Hen',
      'Egg: "scope" follows relations in a circle: Egg → Hen → Egg',
    ],
  ],
  [
    'resources without a row scope where one is required',
    { requireScope: true, resources: [{ entity: Tag }, { entity: Note, scope: 'all' }] },
    ['Tag: "requireScope" is set, but the resource has no "scope"; if everybody may see its records, set scope: "all"'],
  ],
  [
    'permissions and presets of a wrong type',
    { resources: [{ entity: Tag, may: { remove: true, read: true, create: 'yes', update: null }, preset: { id: 1 } }] },
    [
      'Tag: "may" has "remove"; actions: create, update, delete, restore',
      'Tag: "may" has "read"; actions: create, update, delete, restore; "scope" determines who sees a record',
      'Tag: "may.create" must be true, false, a filter, or a function that returns one',
      'Tag: "may.update" must be true, false, a filter, or a function that returns one',
      'Tag: "preset" must be a function that returns values: (me) => ({ author: me.id })',
    ],
  ],
  [
    'constant filters with unknown names, without filters, and with values that a field cannot have',
    {
      resources: [
        {
          entity: Note,
          may: {
            create: { titel: 'x', or: [{ tag__nam: 1 }] },
            update: { before: {}, after: { id: 'one', tag__id: 'two' } },
            delete: [{ title: undefined }],
          },
        },
        { entity: Tag, may: { create: {}, update: { id__lik: '1' }, delete: { not: { id: null } } } },
        { entity: Egg, may: { create: { id: 1 }, update: { before: true, after: { hen__egg__id__in: [1] } } } },
      ],
    },
    [
      'Note: "may.create": titel is not a field of note',
      'Note: "may.update" (before): a filter must not be empty',
      'Note: "may.update" (after): id must be an integer',
      'Note: "may.delete": the value of title is undefined',
      'Tag: "may.create": a filter must not be empty',
      'Tag: "may.update": id__lik has the unknown operator "lik"',
      'Tag: "may.delete": the value of id is null within "not"',
    ],
  ],
  [
    'permissions that are not an object',
    {
      resources: [
        { entity: Tag, may: [] },
        { entity: Note, may: true },
      ],
    },
    [
      'Tag: "may" must be an object: { create, update, delete, restore }',
      'Note: "may" must be an object: { create, update, delete, restore }',
    ],
  ],
  [
    'the permission to restore records that are never soft-deleted, and one of a wrong type',
    {
      resources: [
        { entity: Tag, may: { restore: false } },
        { entity: Note, may: { restore: 'all' } },
      ],
    },
    [
      'Tag: "may.restore" needs soft-deleted records: the entity has no @DeleteDateColumn',
      'Note: "may.restore" needs soft-deleted records: the entity has no @DeleteDateColumn',
      'Note: "may.restore" must be true, false, a filter, or a function that returns one',
    ],
  ],
  [
    'authenticators that are no authenticators',
    { authenticators: [basic] },
    ['"authenticators" must be an array of authenticators, each created by a call such as basic()'],
  ],
  [
    'no authenticators',
    { authenticators: [] },
    ['"authenticators" must be an array of authenticators, each created by a call such as basic(), not []'],
  ],
  [
    'two authenticators of one scheme',
    { authenticators: [basic(), custom({ scheme: 'BASIC', authenticate: () => null })] },
    ['"authenticators" has several authenticators of the scheme BASIC; each scheme can have only one'],
  ],
  [
    'wrong options for access',
    { forbidden: 404, strictRelations: 'yes' },
    ['"forbidden" must be 401 or 403, not 404', '"strictRelations" must be true or false, not "yes"'],
  ],
  [
    'an unknown resource option',
    { resources: [{ entity: Note, excludes: [] }] },
    ['Note: unknown option "excludes"; use "exclude"; options: '],
  ],
  [
    'an unknown ownerField',
    { users, resources: [{ entity: Note, ownerField: 'owner' }] },
    ['"ownerField" must be a many-to-one relation to the key of User, not "owner"; allowed: user'],
  ],
  [
    'an ownerField to another entity than the user',
    { users, resources: [{ entity: Note, ownerField: 'tag' }] },
    ['"ownerField" must be a many-to-one relation to the key of User, not "tag"'],
  ],
  [
    'an ownerField that is a column',
    { users, resources: [{ entity: Note, ownerField: 'title' }] },
    ['"ownerField" must be a many-to-one relation to the key of User, not "title"'],
  ],
  [
    'two resources with the same name',
    { resources: [{ entity: Note }, { entity: Tag, name: 'note' }] },
    ['Note and Tag are both named "note"'],
  ],
  [
    'an entity registered twice',
    { resources: [{ entity: Tag }, { entity: Tag, name: 'tag2' }] },
    ['Tag is registered twice'],
  ],
  [
    'a name that cannot be in a path',
    { resources: [{ entity: Tag, name: 'my tag' }] },
    ['"my tag" cannot be used in a path'],
  ],
  [
    'a resource that is not an entity',
    { resources: [{ entity: class Other {} }] },
    ['"resources" names Other, which is not an entity of this data source'],
  ],
  [
    'users that are not an entity',
    { users: { entity: 'Nobody' }, resources: [{ entity: Tag }] },
    ['"users" names "Nobody"'],
  ],
  [
    'a rule that needs users, without a user entity',
    { resources: [{ entity: Tag, auth: userRule() }] },
    ['Tag: its rule (user) needs users'],
  ],
  [
    'an ownerField without a user entity',
    { resources: [{ entity: Note, ownerField: 'user' }] },
    ['Note: its rule (user) needs users'],
  ],
  [
    'an admin rule without an admin flag',
    { users, resources: [{ entity: Tag, auth: adminRule() }] },
    ['Tag: its rule (admin) needs administrators'],
  ],
  [
    'a rule that was not called',
    { users, resources: [{ entity: Tag, auth: userRule }] },
    ['"auth" is userRule itself; call it: userRule()'],
  ],
  [
    'a default rule that was not called',
    { defaultAuth: readOnlyRule, resources: [{ entity: Tag }] },
    ['call it: readOnlyRule()'],
  ],
  [
    'an OpenAPI document for users, without a user entity',
    { openapi: userRule(), resources: [{ entity: Tag }] },
    ['"openapi": its rule (user) needs users'],
  ],
  [
    'a rule of the OpenAPI document that was not called',
    { openapi: readOnlyRule, resources: [{ entity: Tag }] },
    ['"openapi" is readOnlyRule itself; call it: readOnlyRule()'],
  ],
  [
    'resources with names of pages',
    {
      health: true,
      resources: [
        { entity: Tag, name: 'docs' },
        { entity: Note, name: 'health' },
      ],
    },
    [
      '"health" is the name of a resource and of the page /api/health/: give the resource another "name", or mount with { health: false }',
      '"docs" is the name of a resource and of the page /api/docs/: give the resource another "name", or mount with { explorer: false }',
    ],
  ],
  ['a rule that is not a function', { resources: [{ entity: Tag, auth: 'user' }] }, ['"auth" must be a rule']],
  [
    'a username that is not a column',
    { users: { entity: User, username: 'login' }, resources: [{ entity: Tag }] },
    ['User: "login" cannot be the users\' username'],
  ],
  [
    'an admin flag that is not a column',
    { users: { entity: User, admin: 'boss' }, resources: [{ entity: Tag }] },
    ['"boss" cannot be the users\' admin'],
  ],
  [
    'an admin flag that is a text',
    { users: { entity: User, admin: 'username' }, resources: [{ entity: Tag }] },
    [
      'a boolean or integer column: it determines whether a user is admin; for a role that is a text, use principal: ["username"]',
    ],
  ],
  [
    'users without the usual columns',
    { users: { entity: Tag }, resources: [{ entity: Tag }] },
    ["the users' username", "the users' password"],
  ],
  [
    'an unknown account option',
    { users: { entity: User, login: 'username' }, resources: [{ entity: Tag }] },
    ['User: unknown option "login"'],
  ],
  [
    'hash without verify',
    { users: { entity: User, hash: String }, resources: [{ entity: Tag }] },
    ['requires both "hash" and "verify"'],
  ],
  [
    'a hidden key',
    { resources: [{ entity: Tag, exclude: ['id'] }] },
    ['Tag: "id" is part of the key, which cannot be hidden'],
  ],
  [
    'columns that cannot be fields',
    { resources: [{ entity: Odd }] },
    ['a__b has two underscores', 'c_ has two underscores', 'tag_id and tag would both be "tag_id"'],
  ],
  [
    'a key type that cannot be used in a path',
    { resources: [{ entity: Timed }] },
    ['Timed: the key at has a type that cannot be used in a path: each value is a date and time'],
  ],
  [
    'a rule that is still loading',
    { resources: [{ entity: Tag, auth: undefined }] },
    ['Tag: "auth" is undefined; check for a circular import'],
  ],
  ...['exclude', 'readOnly', 'ownerField', 'requireIfMatch', 'scope', 'may', 'preset'].map(
    (option): [string, object, readonly string[]] => [
      `a restriction that is still loading: ${option}`,
      { resources: [{ entity: Tag, [option]: undefined }] },
      [`Tag: "${option}" is undefined; check for a circular import`],
    ],
  ),
  ...['create', 'update', 'delete'].map((action): [string, object, readonly string[]] => [
    `a permission that is still loading: ${action}`,
    { resources: [{ entity: Tag, may: { create: false, update: false, delete: false, [action]: undefined } }] },
    [`Tag: "may.${action}" is undefined; check for a circular import`],
  ]),
  ...['defaultAuth', 'requireScope', 'strictRelations'].map((option): [string, object, readonly string[]] => [
    `a restriction of the mount that is still loading: ${option}`,
    { [option]: undefined, resources: [{ entity: Tag }] },
    [`"${option}" is undefined; check for a circular import`],
  ]),
  [
    'a scope that is still loading, where every resource needs one',
    { requireScope: true, resources: [{ entity: Tag, scope: undefined }] },
    ['Tag: "scope" is undefined; check for a circular import'],
  ],
  [
    'an ownerField to another column than the key',
    { users, resources: [{ entity: ByName, ownerField: 'user' }] },
    ['ByName: "ownerField" must be a many-to-one relation to the key of User, not "user"'],
  ],
  [
    'a hidden part of a key',
    { resources: [{ entity: Pair, exclude: ['b'] }] },
    ['Pair: "b" is part of the key, which cannot be hidden'],
  ],
  [
    'a key that is not named "id", and a column that is',
    { resources: [{ entity: Renamed }] },
    ['code and id would both be "id": give id another name, as { rename: { id: \'…\' } }'],
  ],
  [
    'an embedded key with the name "id", and a field with the name of an embedded entity',
    { resources: [{ entity: Coded }, { entity: Profiled, rename: { title: 'profile' } }] },
    [
      'Coded: id.country, id.region and an embedded entity would both be "id": give the property of the embedded entity',
      'Profiled: title and an embedded entity would both be "profile"',
    ],
  ],
  [
    'a property of Object.prototype',
    { resources: [{ entity: Inherited }] },
    ['valueOf has the name of a method of Object.prototype'],
  ],
  [
    'a column that two relations share',
    { resources: [{ entity: Shared }] },
    ['"pair" shares the column "a" with "tag"'],
  ],
  [
    'a rename of an unknown property, and one to an invalid name',
    { resources: [{ entity: Note, rename: { titel: 'x', title: 'a__b' } }] },
    ['unknown property "titel" in "rename"', 'title has two underscores'],
  ],
])('Checks at mount: %s', async (_, options, expected) => {
  const mistakes = await mistakesOf(options)
  for (const words of expected) expect(mistakes.join('\n')).toContain(words)
  expect(mistakes.length).toBe(expected.length)
})

test('Users: only one entity can be the user account', async () => {
  const mistakes = await mistakesOf({ users, resources: [{ entity: Tag }] }, Decorated)
  expect(mistakes).toEqual(['there are several user entities: Decorated and User; only one is allowed'])
})

test('Checks at mount: all mistakes are reported together', async () => {
  const mistakes = await mistakesOf({
    prefix: 'x',
    resources: [
      { entity: Note, exclude: ['a', 'b'], auth: userRule() },
      { entity: Pair, exclude: ['b'] },
      { entity: Tag, name: 'note' },
    ],
  })
  expect(mistakes.length).toBe(6)
})

test('Checks at mount: properties that cannot be exposed can be excluded', async () => {
  expect(await mistakesOf({ resources: [{ entity: Odd, exclude: ['a__b', 'c_', 'inner', 'tag'] }] })).toEqual([])
})

test('Checks at mount: with a data source that is not initialized yet, options are checked at mount and entities after its initialization', async () => {
  const later = new DataSource({ type: 'better-sqlite3', database: ':memory:', entities })
  const mistaken = { prefix: 'api' }
  expect(() => mountResources(new Koa(), later, mistaken)).toThrow('"prefix" must be a path such as "/api", not "api"')
  mountResources(new Koa(), later, { users: { entity: 'nobody' } })
  await expect(later.initialize()).rejects.toThrow('"users" names "nobody", which is not an entity of this data source')
  expect(later.isInitialized).toBe(false)
})

test('two resources whose classes have the same name too are reported with their tables', async () => {
  class Another {
    @PrimaryGeneratedColumn() id!: number
  }
  Object.defineProperty(Another, 'name', { value: 'Tag' })
  Entity('old_tag')(Another)
  const resources = [{ entity: Tag }, { entity: Another }]
  expect(await mistakesOf({ resources }, Another)).toEqual([
    'Tag (table tag) and Tag (table old_tag) are both named "tag": give one a "name"',
  ])
})

test('options whose value is undefined have their defaults', async () => {
  const dataSource = await openDataSource([Tag])
  const names = [
    'prefix',
    'limit',
    'limits',
    'allowedOrigins',
    'waitLimit',
    'sqliteLock',
    'health',
    'users',
    'pagingSecret',
    'openapi',
    'info',
    'explorer',
  ] as const
  const nothing = Object.fromEntries(names.map((name) => [name, undefined]))
  const limits = { filters: undefined } as object
  mountResources(new Koa(), dataSource, { ...nothing, limits, resources: [{ entity: Tag }] })
  expect(dataSource.createQueryRunner()).not.toBe(dataSource.createQueryRunner())
  await dataSource.destroy()
})

test('Checks at mount: the whole text of the error message', async () => {
  const dataSource = await openDataSource(entities)
  const mount = (): unknown =>
    mountResources(new Koa(), dataSource, { resources: [{ entity: Note, exclude: ['titel'] }] })
  expect(mount).toThrow(
    'typeorm-resources cannot be mounted:\n  - Note: unknown property "titel" in "exclude"; properties: id, title, tag, user',
  )
  await dataSource.destroy()
})

test('Checks at mount: Node.js prints each mistake once', async () => {
  const dataSource = await openDataSource(entities)
  try {
    mountResources(new Koa(), dataSource, { resources: [{ entity: Note, exclude: ['titel'] }] })
  } catch (error) {
    expect(inspect(error).match(/unknown property/g)).toHaveLength(1)
  }
  expect.assertions(1)
  await dataSource.destroy()
})

test('Checks at mount: a data source without resources names the classes that have the decorator', async () => {
  @Resource()
  class Forgotten {}
  const advice =
    /^no entity .*: put @Resource\(\) on one, or add those that have it, with @Entity\(\), to its "entities": .*Forgotten$/
  expect(await mistakesOf({})).toEqual([expect.stringMatching(advice)])
  void Forgotten
})

test('Checks at mount: a data source can be mounted only once at a path of an application', async () => {
  const dataSource = await openDataSource([Tag])
  const app = new Koa()
  const mount =
    (options: MountOptions, application = app) =>
    (): unknown =>
      mountResources(application, dataSource, { resources: [{ entity: Tag }], ...options })
  mount({})()
  const mistake = 'the data source is mounted at /api/ already: remove this call, or set another "prefix"'
  expect(mount({})).toThrow(mistake)
  expect(mount({ prefix: '/api/' })).toThrow(mistake)
  for (const other of [mount({ prefix: '/other' }), mount({}, new Koa())]) expect(other).not.toThrow()
  await dataSource.destroy()
})

test('a decorator on an entity of another data source is ignored', async () => {
  @Entity()
  @Resource()
  @UserAccount()
  class Elsewhere {
    @PrimaryGeneratedColumn() id!: number
    @Column() username!: string
    @Column() password!: string
  }
  expect(await mistakesOf({ resources: [{ entity: Tag }] })).toEqual([])
  void Elsewhere
})

test('a driver that interpolates values into SQL is refused', () => {
  const driver: unknown = require('mysql-without-prepared')
  const dataSource = new DataSource({ type: 'mysql', driver, entities: [Tag] })
  expect(() => mountResources(new Koa(), dataSource, { resources: [{ entity: Tag }] })).toThrow(
    'the data source uses the package mysql, which has no prepared statements and writes values into SQL: run "npm install mysql2"',
  )
})

test.each([{ supportBigNumbers: false }, { supportBigNumbers: true, extra: { supportBigNumbers: false } }])(
  'a driver that rounds integers is refused: %j',
  (options) => {
    const dataSource = new DataSource({ type: 'mariadb', entities: [Tag], ...options })
    expect(() => mountResources(new Koa(), dataSource, { resources: [{ entity: Tag }] })).toThrow(
      'the data source sets supportBigNumbers: false, so that mysql2 rounds integers beyond ±(2^53−1), and a write could ' +
        'change the record of another key: remove the option',
    )
  },
)

test('all mounts of a data source must have the same statementTimeout', async () => {
  const dataSource = await openDataSource([Tag])
  const mount = (statementTimeout: number, prefix: string) => (): unknown =>
    mountResources(new Koa(), dataSource, { statementTimeout, prefix, resources: [{ entity: Tag }] })
  mount(300, '/one')()
  expect(mount(300, '/two')).not.toThrow()
  expect(mount(0, '/three')).toThrow('"statementTimeout" must be the same for all mounts of a data source')
  await dataSource.destroy()
})

describe('a mount must not serve what the options of another mount of the data source protect', () => {
  const protecting: MountOptions = {
    resources: [{ entity: Tag }],
    users: { entity: User },
    audit: { entity: AuditLine },
  }
  const passwords =
    'User has the passwords of the users of the mount at /one/: set the option "users" of the mount at /two/ too'
  const log = `AuditLine is the audit log of the mount at /one/: set the option "audit" of the mount at /two/ too, or forbid writes with "may"`
  const auth = (): Principal => ({ id: 1 })
  const noWrites = { create: false, update: false, delete: false }
  const user = { entity: User, auth }
  const line = { entity: AuditLine, auth }

  test.each<[string, MountOptions, readonly string[]]>([
    ['a user entity', { resources: [user] }, [passwords]],
    ['one that can only be read', { resources: [{ entity: User }] }, [passwords]],
    ['one whose hidden password can be written', { resources: [{ ...user, exclude: ['password'] }] }, [passwords]],
    ['one whose password is hidden', { resources: [{ entity: User, exclude: ['password'] }] }, []],
    ['one that is the user entity here too', { resources: [user], users: { entity: User } }, []],
    ['an audit log', { resources: [line] }, [log]],
    ['one with a write that is not forbidden', { resources: [{ ...line, may: { create: false } }] }, [log]],
    ['one that can only be read', { resources: [{ entity: AuditLine }] }, []],
    ['one whose writes are forbidden', { resources: [{ ...line, may: noWrites }] }, []],
    ['one that is the audit log here too', { resources: [line], audit: { entity: AuditLine } }, []],
    ['both', { resources: [user, line] }, [passwords, log]],
  ])('%s', async (_, serving, mistakes) => {
    for (const [first, second] of [
      ['/one', '/two'],
      ['/two', '/one'],
    ]) {
      const dataSource = await openDataSource([Tag, User, AuditLine])
      const mount = (prefix = ''): unknown =>
        mountResources(new Koa(), dataSource, { prefix, ...(prefix === '/one' ? protecting : serving) })
      mount(first)
      let found: readonly string[] = []
      try {
        mount(second)
      } catch (error) {
        found = (error as ConfigError).mistakes
      }
      expect(found).toEqual(mistakes)
      await dataSource.destroy()
    }
  })
})

test.each([
  ['@Resource', Resource],
  ['@UserAccount', UserAccount],
  ['@ApiKeys', ApiKeys],
])('%s without parentheses is an error that says what to write', (name, decorator) => {
  const decorate = decorator as unknown as (entity: object) => unknown
  expect(() => decorate(Tag)).toThrow(new TypeError(`${name} on Tag must be called: write ${name}()`))
})

test.each<[name: string, decorator: unknown, options: unknown, message: string]>([
  ['@Resource', Resource, 'note', `not "note": write @Resource({ name: 'note' })`],
  ['@Resource', Resource, ['note'], `not ["note"]: write @Resource({ name: 'note' })`],
  ['@Resource', Resource, null, `not null: write @Resource({ name: 'note' })`],
  ['@UserAccount', UserAccount, 'email', `not "email": write @UserAccount({ username: 'email' })`],
  ['@ApiKeys', ApiKeys, 5, `not 5: write @ApiKeys({ user: 'owner' })`],
])('%s with options that are no object is an error that says what to write', (name, decorator, options, message) => {
  const decorate = decorator as (options: unknown) => unknown
  expect(() => decorate(options)).toThrow(new TypeError(`${name} must be called with an object of options, ${message}`))
})
