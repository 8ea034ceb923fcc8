import { type Clock, iso } from '../time/time.ts'
import type { SessionOwner, SessionStep } from './sessions.ts'

type Outcome = Extract<SessionStep['next'], { type: 'ended' }>['outcome']

interface Place {
  readonly station: string
  readonly reader: string | null
}

/** What was done at one reader, since it was first heard of or the daemon started. */
export interface StationReader extends Place {
  /** The name of the credential. */
  by: string
  teamId: number | undefined
  chipGroup: string | null
  purpose: 'provision' | 'recover' | 'reset'
  /** A chip is being worked on. */
  isBusy: boolean
  phase: 'inspect' | 'set-up' | 'read-back' | 'details' | null
  uid: string | null
  counts: Record<Outcome['status'], number>
  last: { at: string; status: Outcome['status']; uid: string | null; error: string | null } | null
  seenAt: string
}

const maxReaders = 200
const keptMs = 24 * 3_600_000

/** The readers that set chips up with this daemon, in its memory: what they did is in the journal and the audit log. */
export class StationBoard {
  readonly #clock: Pick<Clock, 'now'>
  /** The one that was silent longest first. */
  readonly #readers = new Map<string, StationReader>()
  /** By session. */
  readonly #sessions = new Map<string, string>()
  #changed: (teamId: number | undefined) => void = () => undefined

  constructor({ clock }: { clock: Pick<Clock, 'now'> }) {
    this.#clock = clock
  }

  /** A session that begins. */
  opened(
    { actor, station = '' }: SessionOwner,
    of: Pick<StationReader, 'reader' | 'teamId' | 'chipGroup' | 'purpose'>,
    step: SessionStep,
  ): void {
    const key = JSON.stringify([station, of.reader])
    const counts = this.#readers.get(key)?.counts ?? { provisioned: 0, unchanged: 0, factory: 0, failed: 0 }
    const last = this.#readers.get(key)?.last ?? null
    this.#set(key, {
      ...{ station, ...of, by: actor.name, counts, last, isBusy: true, phase: null, uid: null },
      seenAt: iso(this.#clock.now()),
    })
    this.#sessions.set(step.id, key)
    this.advanced(step)
  }

  advanced({ id, next }: SessionStep): void {
    const key = this.#sessions.get(id)
    const reader = key === undefined ? undefined : this.#readers.get(key)
    if (key === undefined || !reader) return
    const seenAt = iso(this.#clock.now())
    if (next.type !== 'ended') {
      const uid = next.type === 'inspected' ? next.chip.uid : reader.uid
      this.#set(key, { ...reader, seenAt, uid, phase: next.type === 'inspected' ? 'details' : next.phase })
      return
    }
    const { outcome } = next
    const { status, uid } = outcome
    this.#set(key, {
      ...{ ...reader, seenAt, uid: null, phase: null, isBusy: false },
      counts: { ...reader.counts, [status]: reader.counts[status] + 1 },
      last: { at: seenAt, status, uid, error: 'error' in outcome ? (outcome.error ?? null) : null },
    })
    this.#sessions.delete(id)
  }

  /** The chip is gone. */
  closed(id: string): void {
    const key = this.#sessions.get(id)
    const reader = key === undefined ? undefined : this.#readers.get(key)
    if (key !== undefined && reader) this.#set(key, { ...reader, isBusy: false, phase: null, uid: null })
    this.#sessions.delete(id)
  }

  /** Called with the team of a reader at which something happened. */
  onChange(listener: (teamId: number | undefined) => void): void {
    this.#changed = listener
  }

  /** The one that was heard last comes first. @param teamId undefined: of all teams */
  list(teamId: number | undefined): StationReader[] {
    const since = iso(this.#clock.now() - keptMs)
    return [...this.#readers.values()]
      .filter((reader) => reader.seenAt >= since && (teamId === undefined || reader.teamId === teamId))
      .reverse()
  }

  #set(key: string, reader: StationReader): void {
    this.#readers.delete(key)
    this.#readers.set(key, reader)
    const [oldest] = this.#readers.keys()
    if (this.#readers.size > maxReaders && oldest !== undefined) this.#readers.delete(oldest)
    const [first] = this.#sessions.keys()
    if (this.#sessions.size > maxReaders && first !== undefined) this.#sessions.delete(first)
    this.#changed(reader.teamId)
  }
}
