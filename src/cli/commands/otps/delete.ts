import { defineCommand } from '../../command/define.ts'
import { argument, yes } from '../../command/options.ts'

export const remove = defineCommand({
  name: 'delete',
  summary: 'Delete an OTP code, so that nobody can use it',
  examples: ['otps delete V1StGXR8_Z5jdHi6B-myT --yes'],
  args: { otp: argument('otp', 'The code') },
  options: { yes },
  run: async (ctx, { args, options }) => {
    ctx.needApiKey()
    await ctx.prompts.confirm(options.yes, 'Delete this code? This cannot be undone.')
    const answer = await ctx.call('DELETE /otps/:id', { params: { id: args.otp } })
    await ctx.io.one(answer, () => ({ Deleted: args.otp }))
    ctx.io.hint('The person gets a fresh one by tapping the chip again.')
  },
})
