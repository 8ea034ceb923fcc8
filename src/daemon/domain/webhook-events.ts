import { nanoid } from 'nanoid'
import { type WebhookType, webhookTypes } from '../../values/webhook-types.ts'
import type { Queries } from '../store/database.ts'
import { insertMessages } from '../store/webhook-deliveries.ts'
import { allWebhooks } from '../store/webhooks.ts'

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

export const newMessageId = (): string => `msg_${nanoid()}`

/** The text form of a list of types in the store; undefined: all types. */
export const storedTypes = (types: readonly WebhookType[] | undefined): string | null =>
  types === undefined || types.length === webhookTypes.length ? null : ` ${types.join(' ')} `

export const typesOf = (stored: string | null): WebhookType[] =>
  webhookTypes.filter((type) => stored === null || stored.includes(` ${type} `))

/** Writes down what webhooks are to be told of. Which teams want what is in memory, so that others pay nothing. */
export class WebhookEvents {
  #wanted = new Map<number, Set<WebhookType>>()
  #recorded: (teamId: number) => void = () => undefined

  static async open(db: Queries): Promise<WebhookEvents> {
    const events = new WebhookEvents()
    await events.load(db)
    return events
  }

  /** Called after each change of a webhook. */
  async load(db: Queries): Promise<void> {
    const wanted = new Map<number, Set<WebhookType>>()
    for (const { teamId, events, disabledAt } of await allWebhooks(db)) {
      if (disabledAt !== null) continue
      const types = wanted.get(teamId) ?? new Set()
      wanted.set(teamId, types)
      for (const type of typesOf(events)) types.add(type)
    }
    this.#wanted = wanted
  }

  /** @param listener called before the write commits */
  onRecorded(listener: (teamId: number) => void): void {
    this.#recorded = listener
  }

  wants(teamId: number | null, type: WebhookType): boolean {
    return teamId !== null && (this.#wanted.get(teamId)?.has(type) ?? false)
  }

  /** Call it in the write of what happened, so that neither is stored without the other. */
  async record(trx: Queries, event: WebhookEvent): Promise<void> {
    const { teamId, type, at, data, chipUid = null, transactionId = null } = event
    if (teamId === null || !this.wants(teamId, type)) return
    const message = { teamId, messageId: newMessageId(), type, at, chipUid, transactionId }
    if ((await insertMessages(trx, { ...message, data: JSON.stringify(data) })) > 0) this.#recorded(teamId)
  }
}
