import { webhookTypes } from '../../../values/webhook-types.ts'
import { defineCommand } from '../../command/define.ts'
import { chosen, team } from '../../command/options.ts'
import { events, printSecret, to } from './webhook.ts'

export const create = defineCommand({
  name: 'create',
  summary: 'Register a URL that is told of events, and show its secret once',
  description:
    'Register a URL that the daemon tells of events as they happen: all of them, or those of --events. Each message is ' +
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
