import { webhookTypes } from '../../values/webhook-types.ts'
import type { AnswerOf, ElementOf } from '../client/types.ts'
import { defineCommand } from '../command/define.ts'
import { argument, choice, chosen, flag, integer, repeated, team, text, yes } from '../command/options.ts'
import type { CliContext } from '../context.ts'
import { type ExitCode, exitCodes, UsageError } from '../errors.ts'
import { readId } from './named.ts'
import { fetchPage, pageFlags } from './paging.ts'

type Webhook = ElementOf<'GET /admin/webhooks'>
type Delivery = AnswerOf<'POST /admin/webhooks/:id/test'>

const to = text(
  '--to <url>',
  'Where messages are sent: https (--url works too, if you do not also need it for the daemon)',
)
const events = repeated(
  '--events <types>',
  `Events to send, separated by commas: ${webhookTypes.join(', ')}`,
  webhookTypes,
)

const webhookArgument = { id: argument('id', 'Its id (webhooks list)') }

const webhookId = (text: string): number => readId(text, { noun: 'webhook', list: 'webhooks list' })

const stateOf = ({ disabledAt, disabledReason }: Webhook): string =>
  disabledAt === null ? 'enabled' : `disabled: ${disabledReason ?? 'no reason is known'}`

const fieldsOf = (webhook: Webhook) => ({
  Id: webhook.id,
  URL: webhook.url,
  Events: webhook.events,
  State: stateOf(webhook),
  Team: webhook.team,
})

/** A secret is printed by the command that makes it alone. */
const printSecret = async (ctx: CliContext, made: Webhook & { readonly secret: string }) => {
  await ctx.io.one(made, () => ({ Secret: made.secret, ...fieldsOf(made) }))
  ctx.io.note(
    'Save the secret now: it is not shown again. Your app verifies messages with it (docs/webhooks.md).',
  )
}

/** Prints what became of a message. @returns 1 if it did not arrive */
const printDelivery = async (ctx: CliContext, delivery: Delivery): Promise<ExitCode> => {
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

const list = defineCommand({
  name: 'list',
  summary: "List a team's webhooks, without their secrets",
  examples: ['webhooks list', 'webhooks list --team Acme --json'],
  options: { team },
  run: async (ctx, { options }) => {
    await ctx.io.list(
      await ctx.call('GET /admin/webhooks', { query: { team: options.team } }),
      {
        ID: (webhook) => webhook.id,
        URL: (webhook) => webhook.url,
        EVENTS: (webhook) => webhook.events,
        STATE: stateOf,
        WAITING: (webhook) => webhook.waiting,
        'ROLLING UNTIL': (webhook) => webhook.rollingUntil,
        TEAM: (webhook) => webhook.team,
      },
      'No webhooks. Register one: tapchip webhooks create --url URL',
    )
  },
})

const create = defineCommand({
  name: 'create',
  summary: 'Register a URL that receives events, and show its secret once',
  description:
    'Register a URL that receives events as they happen: all of them, or those of --events. Each message is ' +
    'signed with a secret, which only this command shows.',
  examples: [
    'webhooks create --url https://app.example.com/hooks/tapchip',
    'webhooks create --url https://app.example.com/hooks --events tap.valid,claim.registered --json',
  ],
  options: { to, events, team },
  run: async (ctx, { options }) => {
    ctx.needAdmin()
    const types = chosen('--events', options.events, webhookTypes)
    const url = await ctx.prompts.text(options.to, {
      flag: '--url',
      message: 'URL that messages are sent to',
    })
    const body = { url, events: types.length === 0 ? undefined : types, team: options.team }
    const made = await ctx.call('POST /admin/webhooks', { body })
    await printSecret(ctx, made)
    ctx.io.hint(`Send it a message: tapchip webhooks test ${made.id}`)
  },
})

const test = defineCommand({
  name: 'test',
  summary: 'Send a webhook one message now, and show its answer',
  description:
    "Send a webhook one message of the type webhook.test now, once, and show the receiver's answer. Exit code 1 " +
    'means that it did not arrive.',
  examples: ['webhooks test 2'],
  args: webhookArgument,
  run: async (ctx, { args }) => {
    ctx.needAdmin()
    const params = { id: webhookId(args.id) }
    return printDelivery(ctx, await ctx.call('POST /admin/webhooks/:id/test', { params }))
  },
})

type ListedDelivery = ElementOf<'GET /admin/webhook-deliveries'>

const states = [
  'waiting',
  'delivered',
  'failed',
  'dropped',
] as const satisfies readonly ListedDelivery['state'][]

const deliveries = defineCommand({
  name: 'deliveries',
  summary: 'List webhook deliveries, sent and pending, newest first',
  examples: [
    'webhooks deliveries',
    'webhooks deliveries --webhook 2 --state failed',
    'webhooks deliveries --state waiting --json',
  ],
  options: {
    webhook: integer('--webhook <id>', 'Only of this webhook', [1, Number.MAX_SAFE_INTEGER]),
    state: choice('--state <state>', 'Only in this state', states),
    ...pageFlags('delivery'),
    team,
  },
  run: async (ctx, { options }) => {
    const { limit, ...query } = options
    const { page, hintNextPage } = await fetchPage(ctx, limit, (limit) =>
      ctx.call('GET /admin/webhook-deliveries', { query: { ...query, limit } }),
    )
    await ctx.io.list(
      page,
      {
        ID: (one) => one.id,
        AT: (one) => one.at,
        TYPE: (one) => one.type,
        STATE: (one) => one.state,
        ATTEMPTS: (one) => one.attempts,
        ANSWER: (one) => one.statusCode,
        ERROR: (one) => one.error,
        'NEXT TRY': (one) => one.nextTryAt,
        WEBHOOK: (one) => one.webhook,
      },
      'No deliveries.',
    )
    hintNextPage()
  },
})

const redeliver = defineCommand({
  name: 'redeliver',
  summary: "Send a delivery again now, and show the webhook's answer",
  description:
    'Send a delivery again now under the same message id, so that the receiver can recognize it. Exit code 1 means ' +
    'that it did not arrive; then it is retried like a new one. A delivery that is still pending cannot be resent.',
  examples: ['webhooks redeliver 41'],
  args: { delivery: argument('delivery', 'Its id (webhooks deliveries)') },
  run: async (ctx, { args }) => {
    ctx.needAdmin()
    const id = readId(args.delivery, { noun: 'delivery', list: 'webhooks deliveries' })
    return printDelivery(
      ctx,
      await ctx.call('POST /admin/webhook-deliveries/:id/redeliver', { params: { id } }),
    )
  },
})

const edit = defineCommand({
  name: 'edit',
  summary: 'Change the URL or the events of a webhook, or disable or enable it',
  description:
    'Change the URL or the events of a webhook, or disable or enable it. While it is disabled, nothing is recorded for it, ' +
    'and pending deliveries are dropped: it receives only what happens after it is enabled.',
  examples: [
    'webhooks edit 2 --url https://app.example.com/hooks/v2',
    'webhooks edit 2 --events tap.valid,tap.refused',
    'webhooks edit 2 --enable',
  ],
  args: webhookArgument,
  options: {
    to,
    events,
    disable: flag('--disable', 'Send it nothing more, and drop pending deliveries'),
    enable: flag('--enable', 'Send it what happens from now on'),
  },
  run: async (ctx, { args, options }) => {
    ctx.needAdmin()
    const id = webhookId(args.id)
    const types = chosen('--events', options.events, webhookTypes)
    if (options.disable && options.enable)
      throw new UsageError('--disable and --enable contradict each other.')
    const disabled = options.disable || options.enable ? options.disable : undefined
    const body = { url: options.to, events: types.length === 0 ? undefined : types, disabled }
    if (Object.values(body).every((value) => value === undefined))
      throw new UsageError('There is nothing to change.', 'Give --url, --events, --disable or --enable.')
    await ctx.io.one(await ctx.call('PATCH /admin/webhooks/:id', { params: { id }, body }), fieldsOf)
  },
})

const roll = defineCommand({
  name: 'roll',
  summary: 'Give a webhook a new secret; for 24 hours, the old one signs too',
  examples: ['webhooks roll 2'],
  args: webhookArgument,
  options: { yes },
  run: async (ctx, { args, options }) => {
    ctx.needAdmin()
    const id = webhookId(args.id)
    const question = `Give webhook ${id} a new secret? The old one, and any older one at once, ends in 24 hours.`
    await ctx.prompts.confirm(ctx.prompts.named(options.yes), question)
    const rolled = await ctx.call('POST /admin/webhooks/:id/roll', { params: { id } })
    await printSecret(ctx, rolled)
    ctx.io.note(`Until ${rolled.rollingUntil}, messages have the signatures of both secrets.`)
  },
})

const remove = defineCommand({
  name: 'remove',
  summary: 'Remove a webhook with its deliveries, including pending ones',
  examples: ['webhooks remove 2'],
  args: webhookArgument,
  options: { yes },
  run: async (ctx, { args, options }) => {
    ctx.needAdmin()
    const id = webhookId(args.id)
    await ctx.prompts.confirm(options.yes, `Remove webhook ${id}? Its pending deliveries are not sent.`)
    await ctx.io.one(await ctx.call('DELETE /admin/webhooks/:id', { params: { id } }), () => ({
      Removed: id,
    }))
    ctx.io.hint('See what is left: tapchip webhooks list')
  },
})

export const verbs = [list, create, test, deliveries, redeliver, edit, roll, remove]
