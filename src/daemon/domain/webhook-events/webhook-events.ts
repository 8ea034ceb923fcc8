import { nanoid } from 'nanoid'
import { type WebhookType, webhookTypes } from '../../../values/webhook-types.ts'
import { findTransaction } from '../../store/chain/intents.ts'
import { markTold } from '../../store/chain/states.ts'
import type { Queries } from '../../store/database/database.ts'
import { LoadOrder } from '../../store/database/load-order.ts'
import type { NewMessage } from '../../store/schema/schema.ts'
import type { NewTap } from '../../store/taps/taps.ts'
import { insertMessage, isMoreOpen } from '../../store/webhooks/webhook-deliveries.ts'
import { allWebhooks } from '../../store/webhooks/webhooks.ts'
import type { Clock } from '../time/time.ts'

export interface WebhookEvent {
  /** null: concerns no team, so none is told. */
  teamId: number | null
  type: WebhookType
  /** ISO 8601 */
  at: string
  /** Never codes, keys, or refs. */
  data: Record<string, unknown>
  /** First tries of one chip's messages are made in order. */
  chipUid?: string | undefined
  /** Gives `data.initialTxHash`, if it is signed by the first try. */
  transactionId?: number | undefined
}

const minuteMs = 60_000
/** Of one team. */
const refusedPerMinute = 60
/** With more that wait for a webhook, it is not told of refused taps: so many would get it disabled. */
const waitingAtMost = 1000

export const newMessageId = (): string => `msg_${nanoid()}`

/** The text form of a list of types in the store; undefined: all types. */
export const storedTypes = (types: readonly WebhookType[] | undefined): string | null =>
  types === undefined || types.length === webhookTypes.length ? null : ` ${types.join(' ')} `

export const typesOf = (stored: string | null): WebhookType[] =>
  webhookTypes.filter((type) => stored === null || stored.includes(` ${type} `))

/** Writes down what webhooks are to be told of. Which webhooks want what is in memory, so that others pay nothing. */
export class WebhookEvents {
  /** Webhook IDs by team and type. */
  #wanted = new Map<number, Map<WebhookType, number[]>>()
  readonly #order = new LoadOrder()
  #recorded: (teamId: number) => void = () => undefined
  /** Refused taps that teams were told of in this minute. */
  #refused = { sinceMs: 0, byTeam: new Map<number, number>() }
  readonly #clock: Pick<Clock, 'monotonic'>

  private constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock
  }

  static async open(db: Queries, clock: Clock): Promise<WebhookEvents> {
    const events = new WebhookEvents(clock)
    await events.load(db)
    return events
  }

  /** Called after each change of a webhook. */
  async load(db: Queries): Promise<void> {
    const isNewest = this.#order.begin()
    const wanted = new Map<number, Map<WebhookType, number[]>>()
    for (const { id, teamId, events, disabledAt } of await allWebhooks(db)) {
      if (disabledAt !== null) continue
      const byType = wanted.get(teamId) ?? new Map<WebhookType, number[]>()
      wanted.set(teamId, byType)
      for (const type of typesOf(events)) byType.set(type, [...(byType.get(type) ?? []), id])
    }
    if (isNewest()) this.#wanted = wanted
  }

  /** @param listener called before the write commits */
  onRecorded(listener: (teamId: number) => void): void {
    this.#recorded = listener
  }

  wants(teamId: number | null, type: WebhookType): boolean {
    return teamId !== null && (this.#wanted.get(teamId)?.has(type) ?? false)
  }

  teamsThatWant(type: WebhookType): number[] {
    return [...this.#wanted].flatMap(([teamId, types]) => (types.has(type) ? [teamId] : []))
  }

  /** Call it in the write of what happened, so that neither is stored without the other. */
  async record(trx: Queries, event: WebhookEvent): Promise<void> {
    const { teamId, type, at, data, chipUid = null, transactionId = null } = event
    const webhooks = teamId === null ? undefined : this.#wanted.get(teamId)?.get(type)
    if (teamId === null || webhooks === undefined) return
    const message = {
      messageId: newMessageId(),
      type,
      at,
      chipUid,
      transactionId,
      data: JSON.stringify(data),
    }
    let isAny = false
    for (const webhookId of webhooks) {
      const isFull = type === 'tap.refused' && (await isMoreOpen(trx, { webhookId, waiting: waitingAtMost }))
      if (!isFull && (await insertMessage(trx, { webhookId, ...message }))) isAny = true
    }
    if (isAny) this.#recorded(teamId)
  }

  /** What a tap that is being taken tells, for the write that takes it. */
  ofTap(
    { at, chipUid, teamId, counter, outcome, via, keySetId: keySet, tamper }: NewTap,
    { chipGroup, tamper: before }: { chipGroup: string; tamper: string | null },
  ): NewMessage[] {
    if (teamId === null || !this.#wanted.has(teamId)) return []
    const told = (type: WebhookType, data: Record<string, unknown>): NewMessage[] => {
      const webhooks = this.#wanted.get(teamId)?.get(type) ?? []
      if (webhooks.length === 0) return []
      const message = {
        ...{ messageId: newMessageId(), type, at, chipUid, transactionId: null, data: JSON.stringify(data) },
      }
      return webhooks.map((webhookId) => ({ webhookId, ...message }))
    }
    const uid = chipUid
    return [
      ...(outcome === 'valid' ? told('tap.valid', { uid, counter, via, keySet, chipGroup }) : []),
      // The first tap that tells that its chip's seal is open; of others, nothing is told.
      ...(tamper === 'open' && before !== 'open' ? told('chip.opened', { uid, counter }) : []),
    ]
  }

  /** Call it once such a tap was taken. */
  recorded(teamId: number): void {
    this.#recorded(teamId)
  }

  /**
   * Of known chips, and few per minute: anyone can cause refused taps. They are counted here, before the write, because a
   * write may be run again.
   * @returns what records those that are told, as a part of the write
   */
  refusedTaps(taps: readonly NewTap[]): (trx: Queries) => Promise<void> {
    const told = taps.filter(({ teamId, chipUid }) => {
      if (chipUid === null || teamId === null || !this.wants(teamId, 'tap.refused')) return false
      const now = this.#clock.monotonic()
      if (now - this.#refused.sinceMs >= minuteMs) this.#refused = { sinceMs: now, byTeam: new Map() }
      const told = this.#refused.byTeam.get(teamId) ?? 0
      if (told >= refusedPerMinute) return false
      this.#refused.byTeam.set(teamId, told + 1)
      return true
    })
    return async (trx) => {
      for (const { at, chipUid, teamId, outcome } of told)
        await this.record(trx, {
          teamId,
          type: 'tap.refused',
          at,
          data: { uid: chipUid, outcome },
          chipUid: chipUid ?? undefined,
        })
    }
  }

  async recordSettled(
    trx: Queries,
    { id, state, at }: { id: number; state: 'confirmed' | 'reverted' | 'cancelled'; at: string },
  ): Promise<void> {
    if (this.#wanted.size === 0) return
    const row = await findTransaction(trx, id)
    if (!row || !this.wants(row.teamId, 'transaction.settled')) return
    const { teamId, chainId, minedHash, firstHash: initialTxHash } = row
    const outcome = state === 'confirmed' ? 'confirmed' : 'failed'
    if (!(await markTold(trx, { id, outcome }))) return
    const data = { hash: minedHash ?? initialTxHash, initialTxHash, state: outcome, chainId }
    await this.record(trx, { teamId, type: 'transaction.settled', at, data })
  }
}
