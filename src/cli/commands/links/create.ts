import { defineCommand } from '../../command/define.ts'
import { team, text } from '../../command/options.ts'

export const create = defineCommand({
  name: 'create',
  summary: 'Register a third-party link',
  examples: ['links create --label "Open in Acme" --base-url https://acme.example/tap'],
  options: {
    label: text('--label <text>', 'What the tap page shows'),
    baseUrl: text('--base-url <url>', 'Its URL; the ref is added'),
    team,
  },
  run: async (ctx, { options }) => {
    ctx.needAdmin()
    const label = await ctx.prompts.text(options.label, {
      flag: '--label',
      message: 'Label on the tap page',
    })
    const baseUrl = await ctx.prompts.text(options.baseUrl, {
      flag: '--base-url',
      message: 'URL of the link',
    })
    const link = await ctx.call('POST /admin/links', { body: { label, baseUrl, team: options.team } })
    await ctx.io.one(link, (made) => ({
      Id: made.id,
      Label: made.label,
      'Base URL': made.baseUrl,
      Team: made.team,
    }))
    ctx.io.hint('It is on the tap page from now on. See all links: tapchip links list')
  },
})
