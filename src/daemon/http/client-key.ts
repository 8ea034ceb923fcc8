import type { FastifyRequest } from 'fastify'
import ipaddr from 'ipaddr.js'
import { adminSocketName } from '../../values/local-daemon.ts'
import { type AuthDeps, optionalApiKey } from './auth.ts'

/** Whom a rate limit counts: the valid API key that came along, else the client's network. */
export function clientKey(deps: AuthDeps, request: FastifyRequest): string {
  try {
    const key = optionalApiKey(deps, request)
    if (key) return `key:${key.id}`
  } catch {
    // A key that is not good counts as none.
  }
  // Who comes through the socket in the data directory has no address.
  return `net:${network(request.ip ?? adminSocketName)}`
}

/** An IPv4 address as it is; of an IPv6 one the first 64 bits, since one client has all the rest to choose from. */
export function network(ip: string): string {
  const bare = ip.split('%')[0] ?? ip
  if (!ipaddr.isValid(bare)) return ip
  const address = ipaddr.process(bare)
  if (address.kind() === 'ipv4') return address.toString()
  return ipaddr.IPv6.networkAddressFromCIDR(`${address.toString()}/64`).toString()
}
