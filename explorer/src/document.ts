/** Schema Object: the members of the OpenAPI document that the page uses. */
export interface Schema {
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly format?: string
  readonly pattern?: string
  readonly description?: string
  readonly maxLength?: number
  readonly readOnly?: boolean
  readonly writeOnly?: boolean
  readonly default?: unknown
  readonly examples?: readonly unknown[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly $ref?: string
  readonly anyOf?: readonly Schema[]
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: number
  readonly exclusiveMaximum?: number
  readonly minLength?: number
  readonly maxItems?: number
  readonly 'x-resource'?: string
  readonly 'x-owner'?: string
  /** Relation whose records a list of keys sets, as in `include`. */
  readonly 'x-relation'?: string
  /** Fields of related records that the service sets to the key of their parent. */
  readonly 'x-parent-key'?: readonly string[]
}

export interface Parameter {
  readonly name: string
  readonly in: string
  readonly schema: Schema
}

export interface Operation {
  readonly parameters?: readonly Parameter[]
  /** `content` has the schemas of bodies by their media types. */
  readonly requestBody?: { readonly content: Readonly<Record<string, unknown>> }
  /** Alternative ways of authentication. An empty object means that none is required. */
  readonly security?: readonly object[]
  /** `content` has the media types of a body. */
  readonly responses?: Readonly<Record<string, { readonly content?: Readonly<Record<string, unknown>> }>>
  readonly 'x-needs'?: string
}

export interface PathItem {
  readonly get?: Operation
  readonly post?: Operation
  readonly put?: Operation
  readonly patch?: Operation
  readonly delete?: Operation
}

/** Security Scheme Object. */
export interface SecurityScheme {
  readonly type: string
  /** HTTP authentication scheme, for the type `http`. */
  readonly scheme?: string
  /** Where the key is sent, and the name of the header, for the type `apiKey`. */
  readonly in?: string
  readonly name?: string
}

export interface OpenApi {
  readonly info: { readonly title: string }
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly paths: Readonly<Record<string, PathItem>>
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>
    readonly securitySchemes?: Readonly<Record<string, SecurityScheme>>
  }
}

/** Whether an operation requires credentials. */
export function needsUser({ security = [] }: Operation = {}): boolean {
  return security.length > 0 && security.every((way) => Object.keys(way).length > 0)
}

export function typesOf({ type }: Schema): readonly string[] {
  return type === undefined ? [] : [type].flat()
}

export function isNullable(schema: Schema): boolean {
  return typesOf(schema).includes('null') || schema.enum?.includes(null) === true
}

/** Maximum length of texts that get an input with one line. Fields whose texts may be longer get a textarea. */
export const lineLength = 200

/** Whether a schema is text of at most a line, and not a date, a decimal, a key or one of some values. */
export function isShortText(schema: Schema): boolean {
  const { maxLength = Number.POSITIVE_INFINITY, format, pattern, enum: members } = schema
  const isPlain = format === undefined && pattern === undefined && members === undefined
  return isPlain && maxLength <= lineLength && typesOf(schema).includes('string') && schema['x-resource'] === undefined
}

/** Whether the values of a schema are date-times: only they match its pattern. */
export function isDateTime({ format, pattern }: Schema): boolean {
  return format === 'date-time' || (pattern !== undefined && new RegExp(pattern).test('2024-02-29 10:20:30'))
}
