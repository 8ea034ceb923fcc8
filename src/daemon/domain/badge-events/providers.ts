import { EmbeddedProvider } from '../../badges/embedded.ts'
import { PoapProvider } from '../../badges/poap.ts'
import type { PoapConfig, SendRequest } from '../../badges/poap-deps.ts'
import type { BadgeProvider } from '../../badges/provider.ts'
import { nextUpstreamId } from '../../store/badge-events/badge-events.ts'
import type { Db } from '../../store/database/database.ts'
import type { Clock } from '../time/time.ts'

/** The configured providers. Events stay with the provider that created them. */
export interface Providers {
  /** For new events. */
  readonly current: BadgeProvider
  readonly embedded: BadgeProvider
  /** undefined: no POAP account is configured. */
  readonly poap: BadgeProvider | undefined
}

export interface ProviderSettings {
  readonly provider: 'embedded' | 'poap'
  readonly approval: 'auto' | 'manual'
  readonly poap: PoapConfig | undefined
}

export function openProviders(
  { provider, approval, poap: account }: ProviderSettings,
  { db, clock, send }: { db: Db; clock: Clock; send: SendRequest },
): Providers {
  const embedded = new EmbeddedProvider({ nextId: () => nextUpstreamId(db.read), approval })
  const poap =
    account &&
    new PoapProvider(account, {
      send,
      clock,
      sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
      random: Math.random,
    })
  return { current: provider === 'poap' && poap ? poap : embedded, embedded, poap }
}

/** @param codeNumber only claims at POAP have one */
export const providerOf = (providers: Providers, codeNumber: number | null): BadgeProvider | undefined =>
  codeNumber === null ? providers.embedded : providers.poap

export const noAccount = 'This event is at POAP, and the daemon no longer has POAP settings'
