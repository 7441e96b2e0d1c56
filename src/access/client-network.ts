import { isIPv4, isIPv6 } from 'node:net'
import type { Principal } from './rule'

/**
 * The network to which limits of one client apply: its IPv4 address, or the first 64 bits of its IPv6 address, because a
 * client can usually use all addresses with this prefix.
 * @returns an empty string if the text is not an address
 */
export function networkOf(address: string): string {
  const text = address.replace(/^::ffff:(?=\d+\.)/i, '')
  if (isIPv4(text)) return text
  if (!isIPv6(text)) return ''
  const [left = [], right = []] = text.split('::').map((part) => part.split(':').filter((group) => group !== ''))
  const zeros = Array<string>(Math.max(0, 8 - left.length - right.length)).fill('0')
  const groups = [...left, ...zeros, ...right].slice(0, 4)
  return groups.map((group) => Number.parseInt(group, 16).toString(16)).join(':')
}

/** The client of a request. */
export interface Client {
  /** Undefined before the access rule has returned it. */
  readonly principal: Principal | undefined
  readonly address: string
}

/** Text that identifies a client, for limits: the user, or the network of a client that is anonymous or not yet known. */
export function clientName({ principal, address }: Client): string {
  const id = principal?.id ?? null
  return id === null ? `address ${networkOf(address)}` : `user ${id}`
}
