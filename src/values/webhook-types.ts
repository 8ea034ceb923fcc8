/** Webhook event types; a webhook without types gets all of them but `tap.setup`. `chip.opened`: once, by a chip with TagTamper. */
export const webhookTypes = [
  'tap.valid',
  'tap.refused',
  'claim.registered',
  'token.transferred',
  'guestbook.minted',
  'badge.minted',
  'transaction.settled',
  'chip.opened',
  'audit.broken',
  'relayer.low',
  'tap.setup',
] as const
/** Only for webhooks that name it. */
export const setupTapType = 'tap.setup'
export type WebhookType = (typeof webhookTypes)[number]

/** The type of a message that only tests a webhook. */
export const testType = 'webhook.test'
