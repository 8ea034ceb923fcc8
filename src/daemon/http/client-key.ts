import type { FastifyRequest } from 'fastify'
import ipaddr from 'ipaddr.js'
import type { Asker } from '../domain/chain/recipients.ts'
import { type AuthDeps, bearerOf, optionalApiKey } from './auth.ts'

/** The valid API key that came along, if one did. */
export function validKey(deps: AuthDeps, request: FastifyRequest): number | undefined {
  const { caller } = request
  if (caller && 'keyId' in caller) return caller.keyId
  try {
    return optionalApiKey(deps, request)?.id
  } catch {
    // A key that is not good counts as none.
    return undefined
  }
}

/** The name of the valid admin token that came along, if one did. */
export function validToken({ credentials }: AuthDeps, request: FastifyRequest): string | undefined {
  const { caller } = request
  if (caller && 'token' in caller) return caller.token.name
  const token = bearerOf(request)
  try {
    return token === undefined ? undefined : credentials.adminToken(token).name
  } catch {
    return undefined
  }
}

/** Whose turn it is when a name is looked up for somebody who needs no key. */
export function askerOf(deps: AuthDeps, request: FastifyRequest): Asker {
  try {
    const key = optionalApiKey(deps, request)
    if (key) return { team: key.teamId }
  } catch {
    // As above.
  }
  return { client: network(request.ip) }
}

/**
 * Who a stranger is, as far as can be told: an IPv4 address as it is; of an IPv6 one the first 64 bits, since one client
 * has all the rest to choose from. Whoever comes over a Unix socket has none, and what a proxy passes on may be anything.
 */
export function network(ip: string | undefined): string {
  const bare = ip?.split('%')[0] ?? ''
  if (!ipaddr.isValid(bare)) return 'none'
  const address = ipaddr.process(bare)
  if (address.kind() === 'ipv4') return address.toString()
  return ipaddr.IPv6.networkAddressFromCIDR(`${address.toString()}/64`).toString()
}
