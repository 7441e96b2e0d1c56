import type { RawRow } from '../../connection/statement'
import type { RecordBody } from '../../query/nested-body'
import type { ResourceView } from '../../schema/resource-view'
import type { WriteStore } from '../../write/write-store'
import type { PermittedRequest, Service } from '../service'
import type { NestedAccess } from './access'
import type { RelatedResource } from './related'

/** Context for planning the related records of a request (specification: Nested writes). */
export interface Nesting {
  readonly service: Service
  readonly request: PermittedRequest
  readonly access: NestedAccess
  readonly related: (view: ResourceView) => RelatedResource
  /** Whether stored related records that are not in the body are deleted. */
  readonly replaces: boolean
}

/** Record whose related records are planned. */
export interface NestedParent {
  readonly store: WriteStore
  readonly body: RecordBody
  /** The stored row; undefined for a new record. */
  readonly raw: RawRow | undefined
  /** Undefined for a new record whose key the database generates. */
  readonly key: unknown
}

/** Member of the body of a parent. */
export interface ParentMember<Member> {
  readonly parent: NestedParent
  readonly member: Member
}
