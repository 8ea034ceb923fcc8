import dns from 'node:dns/promises'
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { OutboundFailed, OutboundRefused, type Progress } from './errors.ts'
import { type Address, type Body, Deadline, exchange, type OutboundAnswer } from './exchange.ts'
import { isLoopbackName } from './look-up.ts'

export { OutboundFailed, OutboundRefused } from './errors.ts'
export type { OutboundAnswer } from './exchange.ts'

export type Lookup = (hostname: string) => Promise<readonly Address[]>

interface OutboundSettings {
  /**
   * Origins from the daemon's own configuration, such as `http://127.0.0.1:1234`: only these may be private.
   */
  allowPrivate?: readonly string[] | 'all'
  lookup?: Lookup
  timeoutMs: number
  /** The largest answer body, in bytes. */
  maxBytes: number
}

export interface OutboundRequest {
  url: string
  method: string
  headers: Readonly<Record<string, string>>
  body?: Body | undefined
  timeoutMs?: number | undefined
  maxBytes?: number | undefined
  /** Takes an answer whose body is too large, too slow, or broken, with an empty body. */
  cutsBody?: boolean | undefined
}

/**
 * Redirects are returned, not followed.
 * @throws OutboundRefused, OutboundFailed, and whatever an iterable body throws
 */
export type SendRequest = (request: OutboundRequest) => Promise<OutboundAnswer>

export interface Outbound {
  request: SendRequest
}

const systemLookup: Lookup = (hostname) => dns.lookup(hostname, { all: true })

export function createOutbound(settings: OutboundSettings): Outbound {
  const { lookup = systemLookup } = settings
  const { allowPrivate = [] } = settings
  const allowed =
    allowPrivate === 'all' ? undefined : new Set(allowPrivate.map((origin) => parse(origin).origin))
  return {
    async request({ timeoutMs = settings.timeoutMs, maxBytes = settings.maxBytes, ...request }) {
      const url = parse(request.url)
      const progress: Progress = { sent: false }
      const tooLate = `${url.origin} did not answer in full within ${timeoutMs} ms`
      const deadline = new Deadline(timeoutMs, () => new OutboundFailed('timeout', tooLate, progress.sent))
      try {
        const addresses = await deadline.race(resolve(url, lookup))
        if (allowed?.has(url.origin) === false) assertPublic(url, addresses)
        return await exchange({ ...request, url, via: { addresses }, maxBytes, deadline, progress })
      } finally {
        deadline.clear()
      }
    },
  }
}

function parse(text: string): URL {
  // The address is not repeated if it cannot be parsed or contains a password.
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
      `The URL to call on ${url.host} contains credentials: send them in a header`,
    )
  return url
}

/**
 * Explains why a URL that a team chose is not called; undefined if its addresses decide. Names are not looked up.
 * @returns a phrase after the field's name, such as `must begin with https://`
 */
export function whyNotCallable(text: string, isPrivateAllowed: boolean): string | undefined {
  if (!URL.canParse(text)) return 'must be a URL'
  const url = new URL(text)
  if (url.protocol !== 'https:' && !(isPrivateAllowed && url.protocol === 'http:'))
    return isPrivateAllowed ? 'must begin with https:// or http://' : 'must begin with https://'
  if (url.username !== '' || url.password !== '') return 'must not contain a user name or password'
  const bare = url.hostname.replace(/^\[|\]$/g, '')
  const isLocal = isIP(bare) === 0 ? isLoopbackName(bare) : privateRange(bare) !== undefined
  return isLocal && !isPrivateAllowed ? 'must be on the public internet' : undefined
}

/** URL has already normalized decimal, octal, and hexadecimal IPv4 addresses. */
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

/**
 * One private address among public ones is enough to refuse: the other side chooses which one gets the
 * connection.
 */
function assertPublic({ origin }: URL, addresses: readonly Address[]): void {
  for (const { address } of addresses) {
    const range = privateRange(address)
    if (range === undefined) continue
    const why = `${origin} is not on the public internet (${range})`
    const next = "only the daemon's own configuration can allow a private address"
    throw new OutboundRefused('private_address', `${why}, so it is not called: ${next}`, address)
  }
}

const lastFour = (address: ipaddr.IPv6): ipaddr.IPv4 => new ipaddr.IPv4(address.toByteArray().slice(12))

// RFC 6052's well-known prefix, 96 bits long. Its neighbor 64:ff9b:1::/48 belongs to the network's operator.
const isNat64 = (address: ipaddr.IPv6): boolean => address.match(ipaddr.parseCIDR('64:ff9b::/96'))

/**
 * Returns the range that makes an address off-limits; undefined for a public one. Anything not known to be
 * public counts as private. DNS64 turns public IPv4 addresses into NAT64 ones on networks without IPv4, so the
 * inner address decides; 6to4 and Teredo are obsolete and always refused.
 */
export function privateRange(text: string): string | undefined {
  if (!ipaddr.isValid(text)) return 'no address'
  const address = ipaddr.process(text)
  if (address instanceof ipaddr.IPv6) {
    if (isNat64(address)) return privateRange(lastFour(address).toString())
    // All global addresses assigned so far; ranges unknown to ipaddr.js are outside of it.
    if (address.range() === 'unicast' && !address.match(ipaddr.parseCIDR('2000::/3'))) return 'reserved'
  }
  const range = address.range()
  return range === 'unicast' ? undefined : range
}
