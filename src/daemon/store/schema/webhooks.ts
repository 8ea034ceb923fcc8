import type { Generated, Selectable } from 'kysely'

export interface WebhooksTable {
  id: Generated<number>
  teamId: number
  /** Encrypted with the data key, since a URL may contain a secret of the receiver. */
  url: Uint8Array
  /** Protocol and host of the URL, for people. */
  origin: string
  /** Encrypted with the data key. */
  secret: Uint8Array
  /** Also signs until then. */
  oldSecret: Uint8Array | null
  oldSecretUntil: string | null
  /** Types with a space before and after each: ` tap.valid badge.minted `. null: all types. */
  events: string | null
  createdAt: string
  disabledAt: string | null
  disabledReason: string | null
  /** Set while its deliveries are being deleted; the row goes last. */
  removedAt: string | null
}

/** A message for one webhook. Open while `settledAt` is null. */
export interface WebhookDeliveriesTable {
  id: Generated<number>
  webhookId: number
  /** The header `webhook-id`, the same at each try. */
  messageId: string
  type: string
  /** When it happened. */
  at: string
  /** First attempts of one chip's messages are made in order. */
  chipUid: string | null
  /** Adds the transaction's hash if it is known by the first try. */
  transactionId: number | null
  /** JSON */
  data: string
  /** Failed attempts so far. */
  attempts: Generated<number>
  /** null: never tried. */
  dueAt: string | null
  /** Set if it was sent again on request: attempts are counted from here. */
  resentAt: string | null
  settledAt: string | null
  /** `dropped`: its webhook was disabled, or a backup was restored. */
  outcome: 'delivered' | 'failed' | 'dropped' | null
  /** HTTP status code of the last response. */
  statusCode: number | null
  error: string | null
}

/** The fields of a delivery that do not change with its attempts. */
export type NewMessage = Pick<
  Selectable<WebhookDeliveriesTable>,
  'webhookId' | 'messageId' | 'type' | 'at' | 'chipUid' | 'transactionId' | 'data'
>
