import type { EntityOf, Given, NamesOf, Related } from './entity.ts'
import type { IsObject } from './filters.ts'
import type { Operands } from './operators.ts'

/**
 * A field to sort by, also through one or two to-one relations. A leading hyphen sorts in descending order. Fields that
 * have the operator `eq` can be sorted by. Nulls are the smallest value, unless `__nullsfirst` or `__nullslast`
 * follows.
 */
export type OrderingOf<Resource, Resources = { readonly resource: Resource }> = WithDirection<
  WithNullsPlacement<SortName<EntityOf<Resource>, Resources, 2>>
>
/** A name, or with a leading hyphen for descending order. */
export type WithDirection<Name extends string> = Name | `-${Name}`
type WithNullsPlacement<Name extends string> = Name | `${Name}__nullsfirst` | `${Name}__nullslast`

/** Number of relations that a name may still follow. */
type Depth = 0 | 1 | 2
/** `Decremented[n]` is n − 1: TypeScript has no arithmetic on types. */
type Decremented = [never, 0, 1]

type SortName<Entity, Resources, Remaining extends Depth> =
  | {
      readonly [Name in NamesOf<Entity, 'field', Resources>]: IsObject<Given<Entity[Name]>> extends true
        ? `${Name}__${SortName<Given<Entity[Name]>, Resources, Remaining>}`
        : 'eq' extends keyof Operands<Given<Entity[Name]>>
          ? Name
          : never
    }[NamesOf<Entity, 'field', Resources>]
  | ReferenceName<NamesOf<Entity, 'one', Resources>>
  | (Remaining extends 0
      ? never
      : {
          readonly [Name in NamesOf<
            Entity,
            'one',
            Resources
          >]: `${Name}__${SortName<Related<Entity[Name]>, Resources, Decremented[Remaining]>}`
        }[NamesOf<Entity, 'one', Resources>])
type ReferenceName<Name extends string> = Name | `${Name}_id`
