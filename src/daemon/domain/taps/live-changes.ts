import type { Db } from '../../store/database/database.ts'
import { auditedAfter, changeMarks, openBatches } from '../../store/taps/live-changes.ts'
import { FollowedLoop } from './followed-loop.ts'

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

interface Follower {
  readonly teamId: number | undefined
  readonly onChange: (kinds: LiveChange[]) => void
  hasBegun: boolean
}

interface Deps {
  db: Pick<Db, 'slow'>
}

const everyMs = 1000
const maxEntries = 500

/** Tells what changed in the database, by whichever daemon, to be read again. */
export class LiveChanges {
  readonly #deps: Deps
  readonly #loop = new FollowedLoop<Follower>(() => {
    let seen: Seen | undefined
    const run = async (followers: ReadonlySet<Follower>) => {
      seen = await this.#send(seen, followers)
    }
    return { run, everyMs }
  })

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /**
   * Begins with all kinds, once later changes are told: what was read before may be old.
   * @param of.teamId undefined: all teams
   * @returns a function that unsubscribes
   */
  follow(of: Pick<Follower, 'teamId'>, onChange: Follower['onChange']): () => void {
    return this.#loop.follow({ ...of, onChange, hasBegun: false })
  }

  /** For what is in this daemon's memory alone. */
  tell(kind: LiveChange, teamId: number | undefined): void {
    for (const follower of this.#loop.followers)
      if (follower.teamId === undefined || follower.teamId === teamId) follower.onChange([kind])
  }

  async #send(seen: Seen | undefined, followers: ReadonlySet<Follower>): Promise<Seen> {
    const { slow } = this.#deps.db
    const [marks, open] = [await changeMarks(slow), await openBatches(slow)]
    const batches = new Map(open.map((batch) => [batch.id, { ...batch, text: JSON.stringify(batch) }]))
    const entries =
      seen === undefined || marks.audit === seen.marks.audit
        ? []
        : await auditedAfter(slow, { id: seen.marks.audit, limit: maxEntries })
    const moved = [
      ...open.filter(({ id }) => batches.get(id)?.text !== seen?.batches.get(id)?.text),
      ...[...(seen?.batches.values() ?? [])].filter(({ id }) => !batches.has(id)),
    ]
    for (const follower of followers) {
      const { teamId, onChange } = follower
      if (seen === undefined || !follower.hasBegun) {
        follower.hasBegun = true
        onChange([...changeKinds])
        continue
      }
      const isOwn = (row: { teamId: number | null }) => teamId === undefined || row.teamId === teamId
      const changed = new Set(
        entries.filter(isOwn).flatMap(({ action }) => ['audit' as const, kindOf(action)]),
      )
      if (moved.some(isOwn)) changed.add('batches')
      // These are not told by team, so they go to whoever may see all.
      if (teamId === undefined)
        for (const kind of ['transactions', 'webhooks', 'badges'] as const)
          if (marks[kind] !== seen.marks[kind]) changed.add(kind)
      const kinds = changeKinds.filter((kind) => changed.has(kind))
      if (kinds.length > 0) onChange(kinds)
    }
    return { marks, batches }
  }
}

interface Seen {
  readonly marks: Awaited<ReturnType<typeof changeMarks>>
  /** By ID. */
  readonly batches: ReadonlyMap<string, { id: string; teamId: number; text: string }>
}

/** By the action's first word. */
function kindOf(action: string): LiveChange {
  const [noun = ''] = action.split('.')
  if (/^(chips|items|phygitals|labels|chip-groups)/.test(noun)) return 'chips'
  if (noun.startsWith('badge')) return 'badges'
  if (noun.startsWith('guestbook') || noun === 'events') return 'guestbooks'
  return changeKinds.find((kind) => noun.startsWith(kind)) ?? 'audit'
}
