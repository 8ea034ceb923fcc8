import { defineCommand } from '../command/define.ts'
import { argument, flag } from '../command/options.ts'
import { bothForms } from '../uid.ts'
import { token } from './token.ts'

const show = defineCommand({
  name: 'show',
  summary: 'Query a ref, which is valid only the first time, and show its codes',
  examples: ['refs show V1StGXR8_Z5jdHi6B-myT', 'refs show V1StGXR8_Z5jdHi6B-myT --include-owner --json'],
  args: { ref: argument('ref', 'The ref, as in svcRef') },
  options: {
    includeOwner: flag('--include-owner', "Include the token's owner"),
    includeMetadata: flag('--include-metadata', "Include the token's metadata"),
  },
  run: async (ctx, { args, options }) => {
    const ref = await ctx.call('GET /refs/:id', {
      params: { id: args.ref },
      query: {
        includeOwner: options.includeOwner ? 'true' : undefined,
        includeMetadata: options.includeMetadata ? 'true' : undefined,
      },
    })
    await ctx.io.one(ref, (shown) => ({
      UID: bothForms(shown.uid),
      'Valid ref': shown.isValidRef,
      Code: shown.otp,
      Token: token(shown.linkedToken),
      'Token code': shown.linkedToken?.otp,
      Owner: shown.linkedToken?.ownerAddress,
      Metadata: shown.linkedToken?.metadata,
      ...Object.fromEntries(
        shown.badgeEvents.map(({ id, status, otp }) => [
          `Badge event ${id}`,
          `${status}${otp ? `, code ${otp}` : ''}`,
        ]),
      ),
      ...Object.fromEntries(
        shown.guestbookEvents.map((event, i) => [
          `Guestbook ${i + 1}`,
          `${token(event)}${event.otp ? `, code ${event.otp}` : ''}`,
        ]),
      ),
    }))
    const codes = [ref, ref.linkedToken, ...ref.badgeEvents, ...ref.guestbookEvents]
    if (codes.some((code) => code?.otp))
      ctx.io.hint('See what a code is for and when it expires: tapchip otps show CODE')
    if (!ref.isValidRef)
      ctx.io.note('Not valid: this ref was queried before, is too old, or needs the key of its team.')
  },
})

export const verbs = [show]
