import { defineCommand } from '../../command/define.ts'
import { chosen, repeated, text } from '../../command/options.ts'
import { UsageError } from '../../errors.ts'
import { expires } from '../credentials.ts'

const scopes = ['read', 'edit', 'provision', 'transfer', 'keys', 'approve', 'all'] as const

export const create = defineCommand({
  name: 'create',
  summary: 'Create an admin token, which is shown only once',
  examples: [
    'admin-tokens create --name alice --scopes read,edit',
    'admin-tokens create --name ci --scopes read --expires 2027-01-01',
  ],
  options: {
    name: text('--name <name>', 'Who or what it is for; the audit log shows it'),
    scopes: repeated(
      '--scopes <scopes>',
      `Its permissions, separated by commas: ${scopes.join(', ')}`,
      scopes,
    ),
    expires,
  },
  run: async (ctx, { options }) => {
    ctx.needAdmin()
    const given = chosen('--scopes', options.scopes, scopes)
    const name = await ctx.prompts.text(options.name, {
      flag: '--name',
      message: 'Who or what is the token for?',
    })
    if (given.length === 0)
      throw new UsageError('--scopes is missing.', `Its permissions: ${scopes.join(', ')}`)
    const token = await ctx.call('POST /admin/admin-tokens', {
      body: { name, scopes: given, expiresAt: options.expires?.(ctx.now()) },
    })
    await ctx.io.one(token, (made) => ({
      Token: made.token,
      Id: made.id,
      Name: made.name,
      Scopes: made.scopes,
      Expires: made.expiresAt,
    }))
    ctx.io.note('Save it now: it is not shown again. To save it on this machine: tapchip login --admin')
  },
})
