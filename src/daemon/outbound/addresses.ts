import ipaddr from 'ipaddr.js'

/** The IPv4 address in the last four bytes. */
const lastFour = (address: ipaddr.IPv6): ipaddr.IPv4 => new ipaddr.IPv4(address.toByteArray().slice(12))

// RFC 6052's well-known prefix, 96 bits of it. Its neighbour 64:ff9b:1::/48 belongs to whoever runs the network.
const isNat64 = (address: ipaddr.IPv6): boolean => address.match(ipaddr.parseCIDR('64:ff9b::/96'))

/**
 * What keeps an address from being called, in a word; undefined for a public one. Everything that is not known to be
 * public counts as private. NAT64 is what DNS64 makes of a public IPv4 address in networks without IPv4, so there
 * the address inside decides; 6to4 and Teredo are dead and refused, whatever is inside.
 */
export function privateRange(text: string): string | undefined {
  if (!ipaddr.isValid(text)) return 'no address'
  const address = ipaddr.process(text)
  if (address instanceof ipaddr.IPv6) {
    if (isNat64(address)) return privateRange(lastFour(address).toString())
    // All global addresses given out so far; what ipaddr.js has no name for is in the rest.
    if (address.range() === 'unicast' && !address.match(ipaddr.parseCIDR('2000::/3'))) return 'reserved'
  }
  const range = address.range()
  return range === 'unicast' ? undefined : range
}
