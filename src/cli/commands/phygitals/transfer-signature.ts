import type { AnswerOf } from '../../client/types.ts'
import { defineCommand } from '../../command/define.ts'
import type { CliContext } from '../../context.ts'
import { UsageError } from '../../errors.ts'
import { codeFlag, readRecipient, recipientFlag } from '../sending.ts'
import { hasTokenOptions, readToken, type TokenOptions, token, tokenFlags } from '../token.ts'

export const transferSignature = defineCommand({
  name: 'transfer-signature',
  summary: 'Sign a transfer that somebody else submits, and pays for',
  description:
    'Sign a transfer that somebody else submits: to claimNFT of the contract, or to mintNFT for a token that nobody has yet. ' +
    'Both take the signature, blockExpiry, the recipient and the token id, and work once, in blocks before blockExpiry.',
  examples: [
    'phygitals transfer-signature --contract-address 0x5FbD…0aa3 --chain-id 31337 --token-id 7 --recipient alice.eth',
    'phygitals transfer-signature --code V1StGXR8_Z5jdHi6B-myT --recipient alice.eth --json',
  ],
  options: { ...tokenFlags, ...codeFlag, ...recipientFlag },
  run: async (ctx, { options }) => {
    const { code } = options
    if (hasTokenOptions(options) === (code !== undefined))
      throw new UsageError(
        'Specify which token, in one way: --contract-address, --chain-id and --token-id, or --code.',
      )
    const signed = await (code === undefined ? byToken(ctx, options) : byCode(ctx, code, options))
    await ctx.io.one(signed, ({ signature, blockExpiry, tokenRef }) => ({
      Signature: signature,
      'Good before block': blockExpiry,
      Token: token({ ...tokenRef, chainId: Number(tokenRef.chainId) }),
    }))
    ctx.io.hint('Anyone with the signature can transfer the token, but only to this recipient.')
  },
})

interface SignatureOptions extends TokenOptions {
  readonly recipient: string | undefined
}

const byToken = async (
  ctx: CliContext,
  options: SignatureOptions,
): Promise<AnswerOf<'GET /phygitals/transfer-signature'>> => {
  ctx.needApiKey()
  const ref = readToken(options)
  const recipient = await readRecipient(ctx, options.recipient)
  return ctx.call('GET /phygitals/transfer-signature', { query: { ...ref, recipient } })
}

const byCode = async (ctx: CliContext, code: string, options: SignatureOptions) => {
  const recipient = await readRecipient(ctx, options.recipient)
  return ctx.call('GET /phygitals/transfer-signature/pullable', { code, query: { recipient } })
}
