import { nanoid } from 'nanoid'
import { setupTapType, type WebhookType, webhookTypes } from '../../../values/webhook-types.ts'
import { findTransaction } from '../../store/chain/intents.ts'
import { markReported } from '../../store/chain/states.ts'
import type { Queries } from '../../store/database/database.ts'
import { LoadOrder } from '../../store/database/load-order.ts'
import type { NewMessage } from '../../store/schema/schema.ts'
import type { NewTap } from '../../store/taps/taps.ts'
import { hasMoreOpen, insertMessage } from '../../store/webhooks/webhook-deliveries.ts'
import { allWebhooks } from '../../store/webhooks/webhooks.ts'
import type { Clock } from '../time/time.ts'

export interface WebhookEvent {
  /** Null: not about a team, so nothing is sent. */
  teamId: number | null
  type: WebhookType
  /** ISO 8601 */
  at: string
  /** Never codes, keys, or refs. */
  data: Record<string, unknown>
  /** First attempts of one chip's messages are made in order. */
  chipUid?: string | null | undefined
  /** Adds `data.initialTxHash` if the transaction is signed before the first try. */
  transactionId?: number | undefined
}

const minuteMs = 60_000
/** Per team. */
const refusedPerMinute = 60
/**
 * Above this number of pending deliveries, a webhook gets no refused taps: they alone could cause it to be disabled.
 */
const maxWaitingForRefused = 1000

export const newMessageId = (): string => `msg_${nanoid()}`

const defaultTypes = webhookTypes.filter((type) => type !== setupTapType)

/** The text form of a list of types in the store; undefined: all that a webhook gets by default. */
export const storedTypes = (types: readonly WebhookType[] | undefined): string | null =>
  types === undefined || (types.length === defaultTypes.length && !types.includes(setupTapType))
    ? null
    : ` ${types.join(' ')} `

export const typesOf = (stored: string | null): WebhookType[] =>
  stored === null ? defaultTypes : webhookTypes.filter((type) => stored.includes(` ${type} `))

/** Queues webhook messages. Subscriptions are in memory, so events that nobody subscribed to cost nothing. */
export class WebhookEvents {
  /** Webhook IDs by team and type. */
  #subscriptions = new Map<number, Map<WebhookType, number[]>>()
  readonly #order = new LoadOrder()
  #recorded: () => void = () => undefined
  /** Refused taps recorded in this minute, by team. */
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
    const subscriptions = new Map<number, Map<WebhookType, number[]>>()
    for (const { id, teamId, events, disabledAt } of await allWebhooks(db)) {
      if (disabledAt !== null) continue
      const byType = subscriptions.get(teamId) ?? new Map<WebhookType, number[]>()
      subscriptions.set(teamId, byType)
      for (const type of typesOf(events)) byType.set(type, [...(byType.get(type) ?? []), id])
    }
    if (isNewest()) this.#subscriptions = subscriptions
  }

  /** @param listener called before the write commits */
  onRecorded(listener: () => void): void {
    this.#recorded = listener
  }

  hasSubscriber(teamId: number | null, type: WebhookType): boolean {
    return teamId !== null && (this.#subscriptions.get(teamId)?.has(type) ?? false)
  }

  subscribedTeams(type: WebhookType): number[] {
    return [...this.#subscriptions].flatMap(([teamId, types]) => (types.has(type) ? [teamId] : []))
  }

  /** Call it in the write of what happened, so that neither is stored without the other. */
  async record(trx: Queries, event: WebhookEvent): Promise<void> {
    let isAny = false
    for (const message of this.#messagesOf(event)) {
      const of = { webhookId: message.webhookId, waiting: maxWaitingForRefused }
      const isFull = event.type === 'tap.refused' && (await hasMoreOpen(trx, of))
      if (!isFull && (await insertMessage(trx, message))) isAny = true
    }
    if (isAny) this.#recorded()
  }

  /** Messages about a valid tap, for the write that records it. */
  messagesOfTap(
    { at, chipUid, teamId, counter, outcome, via, keySetId: keySet, tamper, fileData }: NewTap,
    { chipGroup, tamper: before }: { chipGroup: string; tamper: string | null },
  ): NewMessage[] {
    const uid = chipUid
    const type = via === 'setup' ? setupTapType : 'tap.valid'
    const messages = (type: WebhookType, data: Record<string, unknown>) =>
      this.#messagesOf({ teamId, type, at, chipUid, data })
    return [
      ...(outcome === 'valid'
        ? messages(type, { uid, counter, via, keySet, chipGroup, ...(fileData == null ? {} : { fileData }) })
        : []),
      // Only the first tap that reports an open seal.
      ...(tamper === 'open' && before !== 'open' ? messages('chip.opened', { uid, counter }) : []),
    ]
  }

  /** One for each subscribed webhook. */
  #messagesOf(event: WebhookEvent): NewMessage[] {
    const { teamId, type, at, data, chipUid = null, transactionId = null } = event
    const webhooks = (teamId === null ? undefined : this.#subscriptions.get(teamId)?.get(type)) ?? []
    if (webhooks.length === 0) return []
    const messageId = newMessageId()
    const message = { messageId, type, at, chipUid, transactionId, data: JSON.stringify(data) }
    return webhooks.map((webhookId) => ({ webhookId, ...message }))
  }

  /** Call it after that write. */
  recorded(): void {
    this.#recorded()
  }

  /**
   * Only for known chips, and few per minute, since anyone can cause refused taps. Counted before the write, because a
   * write may be run again.
   * @returns a part of the write, which records them
   */
  refusedTaps(taps: readonly NewTap[]): (trx: Queries) => Promise<void> {
    const allowed = taps.filter(({ teamId, chipUid }) => {
      if (chipUid === null || teamId === null || !this.hasSubscriber(teamId, 'tap.refused')) return false
      const now = this.#clock.monotonic()
      if (now - this.#refused.sinceMs >= minuteMs) this.#refused = { sinceMs: now, byTeam: new Map() }
      const count = this.#refused.byTeam.get(teamId) ?? 0
      if (count >= refusedPerMinute) return false
      this.#refused.byTeam.set(teamId, count + 1)
      return true
    })
    return async (trx) => {
      for (const { at, chipUid, teamId, outcome } of allowed)
        await this.record(trx, { teamId, type: 'tap.refused', at, data: { uid: chipUid, outcome }, chipUid })
    }
  }

  async recordSettled(
    trx: Queries,
    { id, state, at }: { id: number; state: 'confirmed' | 'reverted' | 'cancelled'; at: string },
  ): Promise<void> {
    if (this.#subscriptions.size === 0) return
    const row = await findTransaction(trx, id)
    if (!row || !this.hasSubscriber(row.teamId, 'transaction.settled')) return
    const { teamId, chainId, minedHash, firstHash: initialTxHash } = row
    const outcome = state === 'confirmed' ? 'confirmed' : 'failed'
    if (!(await markReported(trx, { id, outcome }))) return
    const data = { hash: minedHash ?? initialTxHash, initialTxHash, state: outcome, chainId }
    await this.record(trx, { teamId, type: 'transaction.settled', at, data })
  }
}
