import { EmbeddedProvider } from '../../badges/embedded.ts'
import type { Outside } from '../../badges/outside.ts'
import { PoapProvider } from '../../badges/poap.ts'
import type { PoapConfig } from '../../badges/poap-config.ts'
import type { BadgeProvider } from '../../badges/provider.ts'
import { nextUpstreamId } from '../../store/badge-events.ts'
import type { Db } from '../../store/database.ts'
import type { Clock } from '../time.ts'

/** Where badge events live. Events stay where they were created, whatever is set now. */
export interface Providers {
  /** Of new events. */
  readonly current: BadgeProvider
  readonly embedded: BadgeProvider
  /** undefined: the daemon has no account there. */
  readonly poap: BadgeProvider | undefined
}

export interface ProviderSettings {
  readonly provider: 'embedded' | 'poap'
  readonly approval: 'auto' | 'manual'
  readonly poap: PoapConfig | undefined
}

export function openProviders(
  { provider, approval, poap: account }: ProviderSettings,
  { db, clock, outside }: { db: Db; clock: Clock; outside: Outside },
): Providers {
  const embedded = new EmbeddedProvider({ nextId: () => nextUpstreamId(db.read), approval })
  const poap =
    account &&
    new PoapProvider(account, {
      outside,
      clock,
      sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
      random: Math.random,
    })
  return { current: provider === 'poap' && poap ? poap : embedded, embedded, poap }
}

/** @param codeNumber of a claim: those at POAP alone have one */
export const providerOf = (providers: Providers, codeNumber: number | null): BadgeProvider | undefined =>
  codeNumber === null ? providers.embedded : providers.poap

export const noAccount = 'This event lives at POAP, and the daemon has no POAP settings any more'
