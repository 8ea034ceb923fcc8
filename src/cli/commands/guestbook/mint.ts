import { batchFlags, refuseRunFlags, runFlags } from '../../batch/input/flags.ts'
import { guestbookMint } from '../../batch/kinds/guestbook-mint.ts'
import { runSheet } from '../../batch/run-sheet.ts'
import { defineCommand } from '../../command/define.ts'
import { yes } from '../../command/options.ts'
import { exitCodes, UsageError } from '../../errors.ts'
import {
  codeFlag,
  hintAtTransaction,
  idempotencyFlag,
  readRecipient,
  recipientFlag,
  sendOnce,
} from '../sending.ts'
import { eventArgument, eventFlags, hasEvent, readEvent } from './event.ts'

export const mint = defineCommand({
  name: 'mint',
  summary: 'Mint the token of an event to a guest',
  description:
    "Mint the token of an event to a guest, on the team's authority, or with the code of a tap, which names the event. " +
    'Many from a file with the column recipient, and, unless the event is named here, eventId or contractAddress, chainId ' +
    'and tokenId. A paused contract can still mint.',
  examples: [
    'guestbook mint 4 --recipient alice.eth',
    'guestbook mint --contract GB --token-id 1 --recipient 0xde70…fb77',
    'guestbook mint 4 --file guests.csv --dry-run',
    'guestbook mint --code V1StGXR8_Z5jdHi6B-myT --recipient alice.eth',
  ],
  args: eventArgument,
  options: {
    ...eventFlags,
    ...codeFlag,
    ...recipientFlag,
    ...idempotencyFlag,
    ...batchFlags,
    ...runFlags,
    yes,
  },
  run: async (ctx, { args, options }) => {
    const input = { ...options, ...args }
    const { code, file } = options
    if (file !== undefined) {
      if ([code, options.recipient, options.idempotencyKey].some((flag) => flag !== undefined))
        throw new UsageError('--file already says to whom: leave out the flags that also say it.')
      ctx.needApiKey()
      const event = hasEvent(input) ? await readEvent(ctx, input) : undefined
      return runSheet(ctx, guestbookMint(event), file, options)
    }
    refuseRunFlags(options)
    if (code !== undefined && hasEvent(input))
      throw new UsageError('--code already says which event: leave out the flags that also say it.')
    if (code === undefined) ctx.needApiKey()
    const event = code === undefined ? await readEvent(ctx, input) : undefined
    const recipient = await readRecipient(ctx, options.recipient)
    const sent = await sendOnce(options.idempotencyKey, (idempotencyKey) =>
      code === undefined
        ? ctx.call('POST /events/mint', { body: { ...event, recipient }, idempotencyKey })
        : ctx.call('POST /events/mint/self', { code, body: { recipient }, idempotencyKey }),
    )
    await ctx.io.one(sent, ({ txnHash }) => ({ Transaction: txnHash, To: recipient }))
    hintAtTransaction(ctx, sent.txnHash)
    return exitCodes.done
  },
})
