import dns from 'node:dns/promises'
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { Deadline } from './deadline.ts'
import { OutboundFailed, OutboundRefused, type Progress } from './errors.ts'
import { type Address, type Body, exchange, type OutboundAnswer } from './exchange.ts'

export { OutboundFailed, OutboundRefused } from './errors.ts'
export type { OutboundAnswer } from './exchange.ts'

/** All addresses of a host name. */
export type Lookup = (hostname: string) => Promise<readonly Address[]>

export interface OutboundSettings {
  /** Origins that the daemon's own configuration names, as `http://127.0.0.1:1234`: they alone may be private. */
  allowPrivate?: readonly string[]
  lookup?: Lookup
  /** For a whole request, resolution and answer included. */
  timeoutMs: number
  /** The largest answer, in bytes of its body. */
  maxBytes: number
}

export interface OutboundRequest {
  url: string
  method: string
  headers: Readonly<Record<string, string>>
  body?: Body | undefined
  timeoutMs?: number | undefined
  maxBytes?: number | undefined
}

export interface Outbound {
  /**
   * A redirect is an answer like any other: nobody follows it.
   * @throws OutboundRefused, OutboundFailed, and what an iterable body throws
   */
  request(request: OutboundRequest): Promise<OutboundAnswer>
}

const systemLookup: Lookup = (hostname) => dns.lookup(hostname, { all: true })

/** The one way from the daemon to outside. */
export function createOutbound(settings: OutboundSettings): Outbound {
  const { lookup = systemLookup } = settings
  const allowed = new Set((settings.allowPrivate ?? []).map((origin) => parse(origin).origin))
  return {
    async request({ timeoutMs = settings.timeoutMs, maxBytes = settings.maxBytes, ...request }) {
      const url = parse(request.url)
      const progress: Progress = { sent: false }
      const tooLate = `${url.origin} did not answer in full within ${timeoutMs} ms`
      const deadline = new Deadline(timeoutMs, () => new OutboundFailed('timeout', tooLate, progress.sent))
      try {
        const addresses = await deadline.race(resolve(url, lookup))
        if (!allowed.has(url.origin)) assertPublic(url, addresses)
        return await exchange({ ...request, url, via: { addresses }, maxBytes, deadline, progress })
      } finally {
        deadline.clear()
      }
    },
  }
}

function parse(text: string): URL {
  // The address is not repeated where it cannot be read, or holds a password.
  if (!URL.canParse(text)) throw new OutboundRefused('url', 'The URL to call is not a URL')
  const url = new URL(text)
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new OutboundRefused(
      'url',
      `The URL to call begins with ${url.protocol}: only http and https are called`,
    )
  if (url.username !== '' || url.password !== '')
    throw new OutboundRefused(
      'url',
      `The URL to call on ${url.host} holds credentials: send them in a header`,
    )
  return url
}

/** What a URL's host stands for. Decimal, octal and hexadecimal forms of IPv4 are normal by now: URL saw to that. */
async function resolve({ hostname, origin }: URL, lookup: Lookup): Promise<readonly Address[]> {
  const bare = hostname.replace(/^\[|\]$/g, '')
  const family = isIP(bare)
  if (family !== 0) return [{ address: bare, family }]
  const addresses = await lookup(bare).catch((error: NodeJS.ErrnoException) => {
    const why = error.code ?? 'the look-up failed'
    throw new OutboundFailed('connection', `${origin} has no address: ${why}`, false)
  })
  if (addresses.length === 0) throw new OutboundFailed('connection', `${origin} has no address`, false)
  return addresses
}

/** One private address among public ones is enough: which of them gets the connection is the other side's choice. */
function assertPublic({ origin }: URL, addresses: readonly Address[]): void {
  for (const { address } of addresses) {
    const range = privateRange(address)
    if (range === undefined) continue
    const why = `${origin} is not on the public internet (${range})`
    const next = "only the daemon's own configuration can allow a private address"
    throw new OutboundRefused('private_address', `${why}, so it is not called: ${next}`, address)
  }
}

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
