import { defineCommand } from '../../command/define.ts'
import { chosen, repeated, team, text } from '../../command/options.ts'
import { expires } from '../credentials.ts'

const scopes = ['read', 'edit', 'transfer', 'approve', 'all'] as const

export const create = defineCommand({
  name: 'create',
  summary: 'Create an API key, which is shown only once',
  examples: [
    'api-keys create --name ops',
    'api-keys create --name shop --scopes read --expires 2027-01-01 --json',
  ],
  options: {
    name: text('--name <name>', 'What it is for'),
    scopes: repeated(
      '--scopes <scopes>',
      `Its permissions, separated by commas: ${scopes.join(', ')} (default: all)`,
      scopes,
    ),
    expires,
    team,
  },
  run: async (ctx, { options }) => {
    ctx.needAdmin()
    const name = await ctx.prompts.text(options.name, { flag: '--name', message: 'What is the key for?' })
    const given = chosen('--scopes', options.scopes, scopes)
    const key = await ctx.call('POST /admin/api-keys', {
      body: {
        name,
        team: options.team,
        scopes: given.length > 0 ? given : undefined,
        expiresAt: options.expires?.(ctx.now()),
      },
    })
    await ctx.io.one(key, (made) => ({
      Key: made.key,
      Id: made.id,
      Name: made.name,
      Team: made.team,
      Scopes: made.scopes,
      Expires: made.expiresAt,
    }))
    ctx.io.note('Save it now: it is not shown again. To save it on this machine: tapchip login')
  },
})
