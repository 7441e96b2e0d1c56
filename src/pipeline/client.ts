import { clientName } from '../access/client-network'
import type { PermittedRequest } from './service'

/** Text that identifies the client of a request, for limits: the user, or the network address of an anonymous client. */
export function clientOf({ principal, context }: Pick<PermittedRequest, 'principal' | 'context'>): string {
  return clientName(principal, context.ip)
}
