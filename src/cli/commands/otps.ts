import { defineCommand } from '../command/define.ts'
import { argument, yes } from '../command/options.ts'
import { bothForms } from '../uid.ts'
import { token } from './token.ts'

const show = defineCommand({
  name: 'show',
  summary: 'Show what an OTP code is for, and when it expires',
  examples: ['otps show V1StGXR8_Z5jdHi6B-myT', 'otps show V1StGXR8_Z5jdHi6B-myT --json'],
  args: { otp: argument('otp', 'The code') },
  run: async (ctx, { args }) => {
    const otp = await ctx.call('GET /otps/:id', { params: { id: args.otp } })
    await ctx.io.one(otp, (shown) => ({
      Code: shown.otp,
      Type: shown.type,
      UID: bothForms(shown.uid),
      // A used code expires at once, so the answer does not distinguish the two.
      State: shown.isExpired ? 'used or expired' : 'good',
      [shown.isExpired ? 'Ended' : 'Expires']: shown.expiresAt,
      Created: shown.createdAt,
      Token: token(shown.linkedToken),
      'Badge event': shown.badgeEvent && `${shown.badgeEvent.id} (${shown.badgeEvent.status})`,
      'Guestbook event': shown.guestbookEvent && `${shown.guestbookEvent.id} (${shown.guestbookEvent.name})`,
    }))
  },
})

const remove = defineCommand({
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

export const verbs = [show, remove]
