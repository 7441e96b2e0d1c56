import {
  type DataSource,
  type EntityMetadata,
  type EntitySchema,
  getMetadataArgsStorage,
  InstanceChecker,
} from 'typeorm'

/** Kinds of properties, by their names in TypeORM's storage of decorator arguments and in an `EntitySchema`. */
export type PropertyKind = 'columns' | 'relations' | 'embeddeds'

/** Declaration of a property by a decorator or in an `EntitySchema`. */
export interface Declaration {
  /** The class that declares the property. */
  readonly target: unknown
  /** Options of the column or relation. An embedded entity has none. */
  readonly options?: object
}

/**
 * The declarations of a property in a class and in those that it extends. TypeORM's metadata contains only the first of
 * them. An `EntitySchema` that the data source loads from a file is not found.
 * @param owner the class of the entity, or of an embedded entity
 */
export function declarationsOf(
  owner: unknown,
  kind: PropertyKind,
  propertyName: string,
  metadata: EntityMetadata,
): readonly Declaration[] {
  const decorated: readonly (Declaration & { readonly propertyName: string })[] = getMetadataArgsStorage()[kind]
  return [
    ...decorated.filter((one) => one.propertyName === propertyName && inherits(owner, one.target)),
    ...schemasOf(metadata).flatMap(({ options }) => {
      const declared: Readonly<Record<string, unknown>> = options[kind] ?? {}
      const isDeclared = Object.hasOwn(declared, propertyName) && inherits(owner, options.target)
      return isDeclared ? [{ target: options.target, options: Object(declared[propertyName]) }] : []
    }),
  ]
}

/** Whether a class is the same as another one, or extends it. */
export function inherits(target: unknown, base: unknown): boolean {
  if (typeof target !== 'function' || typeof base !== 'function') return false
  return target === base || target.prototype instanceof base
}

function schemasOf(metadata: EntityMetadata): readonly EntitySchema[] {
  // TypeORM 0.3 has only `connection`.
  const { connection, dataSource = connection }: { readonly connection: DataSource; readonly dataSource?: DataSource } =
    metadata
  const entities: readonly unknown[] = Object.values(dataSource.options.entities ?? {})
  return entities.filter((entity) => InstanceChecker.isEntitySchema(entity))
}
