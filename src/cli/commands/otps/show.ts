import { defineCommand } from '../../command/define.ts'
import { argument } from '../../command/options.ts'
import { bothForms } from '../../uid.ts'
import { token } from '../token.ts'

export const show = defineCommand({
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
