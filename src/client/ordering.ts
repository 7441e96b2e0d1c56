import type { EntityOf, Given, NamesOf } from './entity.ts'
import type { IsObject } from './filters.ts'
import type { Operands } from './operators.ts'

/** A field to sort by, descending with a hyphen before it: what can be equal can be sorted by. */
export type OrderingOf<Resource, Resources = { readonly resource: Resource }> = Either<
  SortName<EntityOf<Resource>, Resources>
>
type Either<Name extends string> = Name | `-${Name}`

type SortName<Entity, Resources> =
  | {
      readonly [Name in NamesOf<Entity, 'field', Resources>]: IsObject<Given<Entity[Name]>> extends true
        ? `${Name}__${SortName<Given<Entity[Name]>, Resources>}`
        : 'eq' extends keyof Operands<Given<Entity[Name]>>
          ? Name
          : never
    }[NamesOf<Entity, 'field', Resources>]
  | ReferenceName<NamesOf<Entity, 'one', Resources>>
type ReferenceName<Name extends string> = Name | `${Name}_id`
