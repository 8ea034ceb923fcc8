import { webhookTypes } from '../../../values/webhook-types.ts'
import { defineCommand } from '../../command/define.ts'
import { chosen, flag } from '../../command/options.ts'
import { UsageError } from '../../errors.ts'
import { events, fieldsOf, to, webhookArgument, webhookId } from './webhook.ts'

export const edit = defineCommand({
  name: 'edit',
  summary: 'Change the URL or the events of a webhook, or disable or enable it',
  description:
    'Change the URL or the events of a webhook, or disable or enable it. While it is disabled nothing is recorded for it, ' +
    'and what waited is dropped: it learns of what happens after it is enabled.',
  examples: [
    'webhooks edit 2 --url https://app.example.com/hooks/v2',
    'webhooks edit 2 --events tap.valid,tap.refused',
    'webhooks edit 2 --enable',
  ],
  args: webhookArgument,
  options: {
    to,
    events,
    disable: flag('--disable', 'Send it nothing more, and drop what waits'),
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
