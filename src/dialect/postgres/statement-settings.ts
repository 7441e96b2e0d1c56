import type { TransactionSettings } from '../dialect'

/** Part of pg's `Connection`: sends messages to the server. Without names they are about the unnamed statement and portal. */
export interface QueryConnection {
  parse: (statement: { readonly name?: string; readonly text: string }) => void
  bind: (portal: { readonly values: readonly unknown[] }) => void
  readonly describe: (portal: { readonly type: 'P' }) => void
  readonly execute: (portal: object) => void
  readonly sync: () => void
  /** Sends the message Query, which executes a text without parameters. */
  query: (text: string) => void
}

/** The class `Query` of pg. `submit` sends the messages of a query. */
export type QueryClass = new (config: object) => { submit(connection: QueryConnection): unknown }
type SettingQueryClass = new (config: object, settings: TransactionSettings) => InstanceType<QueryClass>

/** Settings of statements, by the array of their bind values: TypeORM passes this array unchanged to the connection. */
const attachedSettings = new WeakMap<object, TransactionSettings>()

/** Makes a statement of this service set values before it runs. @param values its bind values */
export function attachSettings(values: unknown[], settings: TransactionSettings): void {
  attachedSettings.set(values, settings)
}

/** The settings of the statement with these bind values; undefined if it has none. */
export function settingsAttachedTo(values: unknown): TransactionSettings | undefined {
  return Array.isArray(values) ? attachedSettings.get(values) : undefined
}

/** SELECT that sets values until the end of the transaction, and returns no row. Its bind values are the settings. */
export function settingsSql(settings: TransactionSettings): string {
  // `set_config` returns the new value, which is never null.
  const calls = settings.flatMap((_, index) =>
    index % 2 === 0 ? [`set_config($${index + 1}, $${index + 2}, true) IS NULL`] : [],
  )
  return `SELECT WHERE ${calls.join(' OR ')}`
}

/** Classes of queries that set values first, each by the class that it extends. */
const settingQueryClasses = new WeakMap<QueryClass, SettingQueryClass>()

/**
 * Creates a query that sets values before it runs, in the same round trip. Outside of a transaction, PostgreSQL runs all
 * statements up to the message Sync in one transaction, with which the settings end. So neither BEGIN nor COMMIT is sent,
 * and a pooler that shares connections between transactions sends all of it to the same connection. The result is an
 * array with the result of the query as its last member.
 */
export function newSettingQuery(Query: QueryClass, config: object, settings: TransactionSettings): object {
  const SettingQuery = settingQueryClasses.get(Query) ?? deriveClass(Query)
  settingQueryClasses.set(Query, SettingQuery)
  return new SettingQuery(config, settings)
}

function deriveClass(Query: QueryClass): SettingQueryClass {
  // A class, because queries with a method of their own tripled the cost of garbage collection.
  return class extends Query {
    readonly #settings: TransactionSettings

    constructor(config: object, settings: TransactionSettings) {
      super(config)
      this.#settings = settings
    }

    override submit(connection: QueryConnection): unknown {
      return super.submit(settingFirst(connection, this.#settings))
    }
  }
}

/** A connection that sets the values before the first execution of a statement. */
function settingFirst(connection: QueryConnection, settings: TransactionSettings): QueryConnection {
  let isSet = false
  const set = (): void => {
    if (isSet) return
    isSet = true
    connection.parse({ text: settingsSql(settings) })
    connection.bind({ values: settings })
    connection.execute({})
  }
  const setting: QueryConnection = Object.create(connection)
  setting.parse = (message) => {
    // A statement without a name would replace the one that sets the values. One with a name is parsed first, because pg
    // takes the first answer to a message Parse as that to its own.
    if (!message.name) set()
    connection.parse(message)
  }
  setting.bind = (message) => {
    set()
    connection.bind(message)
  }
  // pg sends a statement without name and values as a message Query, which would run in another transaction.
  setting.query = (text) => {
    setting.parse({ text })
    connection.bind({ values: [] })
    connection.describe({ type: 'P' })
    connection.execute({})
    connection.sync()
  }
  return setting
}
