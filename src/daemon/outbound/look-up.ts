import { lookup, Resolver } from 'node:dns/promises'
import type { Address } from './exchange.ts'

/** RFC 6761: never asked of a name server. */
export const isLoopbackName = (name: string): boolean => /^([^.]+\.)*localhost\.?$/i.test(name)

const loopback: readonly Address[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
]

interface LookUpSettings {
  /** Also uses the system's own sources, such as /etc/hosts, for names that no name server knows. */
  asksSystem: boolean
  /** For tests. */
  servers?: readonly string[]
  timeoutMs?: number
}

/** The system's look-up occupies one of few threads, for half a minute if a name server is dead. */
const maxSystemLookups = 2

/**
 * Looks up names that others choose. Unlike the system's look-up, which shares few threads with everything else, this
 * one waits in no thread, and gives up in time.
 */
export function boundedLookUp({ asksSystem, servers, timeoutMs = 2000 }: LookUpSettings) {
  let running = 0
  const ofSystem = async (name: string): Promise<readonly Address[]> => {
    if (running >= maxSystemLookups)
      throw Object.assign(new Error('too many look-ups at once'), { code: 'EBUSY' })
    running += 1
    try {
      return await lookup(name, { all: true })
    } finally {
      running -= 1
    }
  }
  return async (name: string): Promise<readonly Address[]> => {
    if (isLoopbackName(name)) return loopback
    const resolver = new Resolver({ timeout: timeoutMs, tries: 2 })
    if (servers) resolver.setServers(servers)
    const [four, six] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
    const addresses = [
      ...(four.status === 'fulfilled' ? four.value.map((address) => ({ address, family: 4 })) : []),
      ...(six.status === 'fulfilled' ? six.value.map((address) => ({ address, family: 6 })) : []),
    ]
    if (addresses.length > 0) return addresses
    if (asksSystem) return ofSystem(name)
    throw four.status === 'rejected' ? four.reason : new Error('no address')
  }
}
