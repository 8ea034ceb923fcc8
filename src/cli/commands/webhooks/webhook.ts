import { webhookTypes } from '../../../values/webhook-types.ts'
import type { AnswerOf, ElementOf } from '../../client/types.ts'
import { argument, repeated, text } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'
import { type ExitCode, exitCodes } from '../../errors.ts'
import { readId } from '../named.ts'

type Webhook = ElementOf<'GET /admin/webhooks'>
type Delivery = AnswerOf<'POST /admin/webhooks/:id/test'>

export const to = text('--to <url>', 'Where messages are sent: https. Here, --url without --to is the same')
export const events = repeated(
  '--events <types>',
  `What it is told of, separated by commas: ${webhookTypes.join(', ')}`,
  webhookTypes,
)

export const webhookArgument = { id: argument('id', 'Its id (webhooks list)') }

export const webhookId = (text: string): number => readId(text, { noun: 'webhook', list: 'webhooks list' })

export const stateOf = ({ disabledAt, disabledReason }: Webhook): string =>
  disabledAt === null ? 'enabled' : `disabled: ${disabledReason ?? 'no reason is known'}`

export const fieldsOf = (webhook: Webhook) => ({
  Id: webhook.id,
  URL: webhook.url,
  Events: webhook.events,
  State: stateOf(webhook),
  Team: webhook.team,
})

/** A secret is printed by the command that makes it alone. */
export const printSecret = async (ctx: CliContext, made: Webhook & { readonly secret: string }) => {
  await ctx.io.one(made, () => ({ Secret: made.secret, ...fieldsOf(made) }))
  ctx.io.note(
    'Save the secret now: it is not shown again. Your app verifies messages with it (docs/webhooks.md).',
  )
}

/** Prints what became of a message. @returns 1 if it did not arrive */
export const printDelivery = async (ctx: CliContext, delivery: Delivery): Promise<ExitCode> => {
  await ctx.io.one(delivery, (it) => ({
    Delivery: it.id,
    State: it.state,
    Type: it.type,
    'Message id': it.messageId,
    Answer: it.statusCode,
    Error: it.error,
    Attempts: it.attempts,
    'Next try': it.nextTryAt,
  }))
  if (delivery.state === 'delivered') return exitCodes.done
  ctx.io.hint('It counts as delivered once the receiver answers 2xx within 10 s.')
  return exitCodes.failed
}
