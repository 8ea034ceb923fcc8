import { BackgroundLoop } from '../../../values/background-loop.ts'
import type { Db } from '../../store/database/database.ts'
import { auditedAfter, chipsOfTaps, newestIds, runningBatches } from '../../store/taps/live-changes.ts'
import { followTaps, type TapLog, type TapRecord } from './tap-log.ts'

export const changeKinds = [
  'chips',
  'batches',
  'badges',
  'guestbooks',
  'transactions',
  'webhooks',
  'teams',
  'nfc',
  'audit',
] as const
export type LiveChange = (typeof changeKinds)[number]

export interface LiveTap extends TapRecord {
  /** Null: unknown, or removed. */
  chip: {
    label: string | null
    chipGroup: string
    item: string | null
    itemName: string | null
    picture: string | null
    /** The redirect URL of the chip; null: its page, or an app. */
    redirectUrl: string | null
  } | null
}

/** Several taps in their order, or what to load again. */
export type LiveEvent = { taps: LiveTap[] } | { changed: LiveChange[] }

interface Follower {
  teamId: number | undefined
  onEvent(event: LiveEvent): void
}

type Deps = { db: Pick<Db, 'read' | 'slow'>; tapLog: TapLog }

const tapsEveryMs = 100
/** Beyond, taps are left out: a list shows the newest ones only. */
const maxTaps = 500
const changesEveryMs = 1000
const maxEntries = 500

/** Events of the daemon's taps and of the database's changes. Nothing is read while nobody follows. */
export class LiveEvents {
  readonly #deps: Deps
  readonly #followers = new Set<Follower>()
  #taps: TapRecord[] = []
  #sending: Promise<void> = Promise.resolve()
  #stop: (() => void) | undefined

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** @param of its own, and taps of unknown chips; undefined: of all teams @returns a function that unsubscribes */
  follow(of: { teamId: number | undefined }, onEvent: (event: LiveEvent) => void): () => void {
    const follower = { teamId: of.teamId, onEvent }
    this.#followers.add(follower)
    this.#stop ??= this.#start()
    return () => {
      this.#followers.delete(follower)
      if (this.#followers.size > 0) return
      this.#stop?.()
      this.#stop = undefined
    }
  }

  #start(): () => void {
    let timer: NodeJS.Timeout | undefined
    const unfollow = followTaps(this.#deps, {}, (tap) => {
      if (this.#taps.length < maxTaps) this.#taps.push(tap)
      timer ??= setTimeout(() => {
        timer = undefined
        this.#sending = this.#sending.then(() => this.#sendTaps())
      }, tapsEveryMs).unref()
    })
    let seen: Seen | undefined
    const loop = new BackgroundLoop({
      run: async () => {
        seen = await this.#sendChanges(seen)
      },
      restMs: () => changesEveryMs,
      // The next look tells what this one could not.
      failed: () => undefined,
    })
    loop.start()
    return () => {
      unfollow()
      clearTimeout(timer)
      this.#taps = []
      void loop.stop()
    }
  }

  async #sendTaps(): Promise<void> {
    const taps = this.#taps
    this.#taps = []
    const uids = [...new Set(taps.flatMap(({ chipUid }) => chipUid ?? []))]
    const found = uids.length === 0 ? [] : await chipsOfTaps(this.#deps.db.slow, uids).catch(() => [])
    const chips = new Map(found.map(({ uid, ...chip }) => [uid, chip]))
    const live = taps.map((tap) => ({ ...tap, chip: chips.get(tap.chipUid ?? '') ?? null }))
    for (const { teamId, onEvent } of this.#followers) {
      const own = live.filter((tap) => teamId === undefined || tap.teamId === null || tap.teamId === teamId)
      if (own.length > 0) onEvent({ taps: own })
    }
  }

  async #sendChanges(seen: Seen | undefined): Promise<Seen> {
    const { slow } = this.#deps.db
    const [ids, running] = [await newestIds(slow), await runningBatches(slow)]
    const now = { ids, running: new Map(running.map((batch) => [batch.id, JSON.stringify(batch)])) }
    if (seen === undefined) return now
    const entries =
      ids.audit === seen.ids.audit ? [] : await auditedAfter(slow, { id: seen.ids.audit, limit: maxEntries })
    const moved = running.filter(({ id }) => now.running.get(id) !== seen.running.get(id))
    const ended = [...seen.running.keys()].some((id) => !now.running.has(id))
    for (const { teamId, onEvent } of this.#followers) {
      const isOwn = (row: { teamId: number | null }) => teamId === undefined || row.teamId === teamId
      const changed = new Set(
        entries.filter(isOwn).flatMap(({ action }) => ['audit' as const, kindOf(action)]),
      )
      if (moved.some(isOwn) || (ended && seen.running.size > 0)) changed.add('batches')
      // These are not told by team, so they go to whoever may see all.
      if (teamId === undefined)
        for (const kind of ['transactions', 'webhooks', 'badges'] as const)
          if (ids[kind] !== seen.ids[kind]) changed.add(kind)
      const kinds = changeKinds.filter((kind) => changed.has(kind))
      if (kinds.length > 0) onEvent({ changed: kinds })
    }
    return now
  }
}

interface Seen {
  ids: Awaited<ReturnType<typeof newestIds>>
  /** By ID. */
  running: Map<string, string>
}

/** By the action's first word. */
function kindOf(action: string): LiveChange {
  const [noun = ''] = action.split('.')
  if (/^(chips|items|phygitals|labels|chip-groups)/.test(noun)) return 'chips'
  if (noun.startsWith('badge')) return 'badges'
  if (noun.startsWith('guestbook') || noun === 'events') return 'guestbooks'
  return changeKinds.find((kind) => noun.startsWith(kind)) ?? 'audit'
}
