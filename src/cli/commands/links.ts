import { defineCommand } from '../command/define.ts'
import { argument, team, text, yes } from '../command/options.ts'
import { readId } from './named.ts'

const list = defineCommand({
  name: 'list',
  summary: "List a team's third-party links, which are on its tap page",
  examples: ['links list', 'links list --team Acme --json'],
  options: { team },
  run: async (ctx, { options }) => {
    await ctx.io.list(
      await ctx.call('GET /admin/links', { query: { team: options.team } }),
      {
        ID: (link) => link.id,
        LABEL: (link) => link.label,
        'BASE URL': (link) => link.baseUrl,
        TEAM: (link) => link.team,
        CREATED: (link) => link.createdAt,
      },
      'No links. Create one: tapchip links create --label LABEL --base-url URL',
    )
  },
})

const create = defineCommand({
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

const remove = defineCommand({
  name: 'remove',
  summary: 'Remove a third-party link',
  examples: ['links remove 2'],
  args: { id: argument('id', 'Its id (links list)') },
  options: { yes },
  run: async (ctx, { args, options }) => {
    ctx.needAdmin()
    const id = readId(args.id, { noun: 'link', list: 'links list' })
    await ctx.prompts.confirm(options.yes, `Remove link ${id}?`)
    await ctx.io.one(await ctx.call('DELETE /admin/links/:id', { params: { id } }), () => ({ Removed: id }))
    ctx.io.hint('See what is left: tapchip links list')
  },
})

export const verbs = [list, create, remove]
