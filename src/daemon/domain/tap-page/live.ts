import type { Chains } from '../../chain/chains.ts'
import type { Watch } from './build.ts'
import { type Action, keyOf, type TapPage } from './content.ts'

/** Badges are settled by their provider, and other processes send no signal, so pages poll. */
const pollMs = { badge: 2000, other: 15_000 }

/** An action is shown in all open views of its page in this process. */
export class PageNotices {
  readonly #listeners = new Map<string, Set<() => void>>()

  listen(ref: string, listener: () => void): () => void {
    const listeners = this.#listeners.get(ref) ?? new Set()
    this.#listeners.set(ref, listeners.add(listener))
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0) this.#listeners.delete(ref)
    }
  }

  notify(ref: string): void {
    for (const listener of this.#listeners.get(ref) ?? []) listener()
  }
}

interface PageSubscription {
  chains: Chains
  clock: { now(): number }
  notices: PageNotices
  ref: string
  load(watch: Watch): Promise<TapPage>
  /** @param keys keys of what changed; at first, of everything */
  onChange(change: { page: TapPage; keys: ReadonlySet<string> }): void
  /** The page is final or has expired. */
  onEnd(error?: unknown): void
}

/** Rebuilds a page whenever something on it may have changed. @returns a function that stops it */
export function subscribeToPage(subscription: PageSubscription): () => void {
  const stop = new AbortController()
  const signal = new Signal()
  stop.signal.addEventListener('abort', () => signal.notify(), { once: true })
  run(subscription, signal, stop.signal).then(
    () => subscription.onEnd(),
    (error: unknown) => subscription.onEnd(error),
  )
  return () => stop.abort()
}

const maxOwners = 3

async function run(subscription: PageSubscription, signal: Signal, stopped: AbortSignal): Promise<void> {
  const { chains, clock, notices, ref } = subscription
  const versions = new Map<number, string>()
  let before: ReadonlyMap<string, string> = new Map()
  let ownersWatched = 0
  while (!stopped.aborted) {
    const stops = [notices.listen(ref, () => signal.notify())]
    try {
      const transactions: number[] = []
      let isOwnerOpen = false
      const watch: Watch = {
        transaction: (id) => transactions.push(id),
        owner: (settled) => {
          // Only at the beginning and after a claim; an unreachable chain would make the page ask forever.
          if (++ownersWatched > maxOwners) return
          isOwnerOpen = true
          void settled.then(() => signal.notify())
        },
      }
      const page = await subscription.load(watch)
      const now = clock.now()
      const shown = versionsOf(page, now)
      const keys = new Set([...shown.keys()].filter((key) => shown.get(key) !== before.get(key)))
      if (keys.size > 0 && !stopped.aborted) subscription.onChange({ page, keys })
      before = shown
      if (!page.isLive && !isOwnerOpen) return
      for (const id of transactions) {
        const changed = (version: string) => {
          if (versions.get(id) === version) return
          versions.set(id, version)
          signal.notify()
        }
        stops.push(await chains.relayer.follow(id, changed))
      }
      await signal.wait(restMs(page, now))
    } finally {
      for (const stop of stops) stop()
    }
  }
}

const datesOf = ({ state }: Action): string[] =>
  state.is === 'registered' ? [state.allowedAt, state.expiresAt] : []

const dayMs = 86_400_000
/** A wait of a day or more is said in whole days, rounded. */
const halfDaysUntil = (date: string, now: number): number =>
  Math.max(0, Math.ceil(((Date.parse(date) - now) / dayMs) * 2))

/** Cards as last shown, ignoring clocks that run by themselves. */
function versionsOf({ actions, piece, endsAt }: TapPage, now: number): Map<string, string> {
  const havePassed = (dates: string[]) => dates.map((date) => Date.parse(date) <= now)
  const isOpen = actions.some(({ state }) => state.is === 'open')
  const owner = JSON.stringify([piece.owner, piece.isUnowned])
  return new Map([
    ['owner', owner],
    ['time', JSON.stringify([endsAt, havePassed([endsAt]), isOpen])],
    ...actions.map((action): [string, string] => [
      keyOf(action),
      JSON.stringify([
        action,
        havePassed(datesOf(action)),
        datesOf(action).map((date) => halfDaysUntil(date, now)),
        action.kind === 'claim' && owner,
      ]),
    ]),
  ])
}

function restMs({ actions, endsAt }: TapPage, now: number): number {
  const isBadge = actions.some(({ kind, state }) => kind === 'badge' && state.is === 'pending')
  const ahead = [endsAt, ...actions.flatMap(datesOf)]
    .map((date) => Date.parse(date) - now)
    .filter((ms) => ms > 0)
  return Math.min(isBadge ? pollMs.badge : pollMs.other, ...ahead)
}

/** Wakes the waiting loop, or skips its next wait. */
class Signal {
  #isRung = false
  #wake: () => void = () => undefined

  notify(): void {
    this.#isRung = true
    this.#wake()
  }

  async wait(atMostMs: number): Promise<void> {
    if (!this.#isRung)
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, atMostMs)
        this.#wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    this.#isRung = false
  }
}
