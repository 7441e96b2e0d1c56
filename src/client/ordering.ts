import type { EntityOf, Given, NamesOf, Related } from './entity.ts'
import type { IsObject } from './filters.ts'
import type { Operands } from './operators.ts'

/**
 * A field to sort by, also through one or two relations to one, descending with a hyphen before it: what can be equal can be sorted by.
 * Nulls are the least, unless `__nullsfirst` or `__nullslast` follows.
 */
export type OrderingOf<Resource, Resources = { readonly resource: Resource }> = Directed<
  Placed<SortName<EntityOf<Resource>, Resources, 2>>
>
type Directed<Name extends string> = Name | `-${Name}`
type Placed<Name extends string> = Name | `${Name}__nullsfirst` | `${Name}__nullslast`

/** How many relations a name may still follow. */
type Depth = 0 | 1 | 2
type Fewer = [never, 0, 1]

type SortName<Entity, Resources, Left extends Depth> =
  | {
      readonly [Name in NamesOf<Entity, 'field', Resources>]: IsObject<Given<Entity[Name]>> extends true
        ? `${Name}__${SortName<Given<Entity[Name]>, Resources, Left>}`
        : 'eq' extends keyof Operands<Given<Entity[Name]>>
          ? Name
          : never
    }[NamesOf<Entity, 'field', Resources>]
  | ReferenceName<NamesOf<Entity, 'one', Resources>>
  | (Left extends 0
      ? never
      : {
          readonly [Name in NamesOf<
            Entity,
            'one',
            Resources
          >]: `${Name}__${SortName<Related<Entity[Name]>, Resources, Fewer[Left]>}`
        }[NamesOf<Entity, 'one', Resources>])
type ReferenceName<Name extends string> = Name | `${Name}_id`
