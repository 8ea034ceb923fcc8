import { uidOnWire } from '../../../nfc/uid.ts'
import { batchFlags, formerConcurrencyFlag, refuseRunFlags, runFlags } from '../../batch/input/flags.ts'
import { phygitalTransfers } from '../../batch/kinds/phygital-transfers.ts'
import { runSheet } from '../../batch/run-sheet.ts'
import { ApiError } from '../../client/errors.ts'
import type { AnswerOf } from '../../client/types.ts'
import { defineCommand } from '../../command/define.ts'
import { text, type Values, yes } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'
import { CliError, exitCodes, UsageError } from '../../errors.ts'
import { shellQuoted } from '../../io/text.ts'
import { bothForms } from '../../uid.ts'
import { chipUid } from '../chip-handle.ts'
import {
  codeFlag,
  hintAtTransaction,
  idempotencyFlag,
  readRecipient,
  recipientFlag,
  sendOnce,
} from '../sending.ts'
import { hasTokenOptions, readToken, type TokenOptions, token, tokenFlags } from '../token.ts'

const flags = {
  ...tokenFlags,
  uid: text('--uid <uid>', 'The chip whose token it is: its UID in decimal or hex, or its label'),
  ...codeFlag,
  ...recipientFlag,
  ...idempotencyFlag,
  ...batchFlags,
  ...runFlags,
  ...formerConcurrencyFlag,
  yes,
}
type TransferOptions = Values<typeof flags>

export const transfer = defineCommand({
  name: 'transfer',
  summary: 'Transfer a token, or mint it to its first owner',
  description:
    "Transfer a token on the team's authority: a given one, or that of a chip, which is minted if the chip has none yet. " +
    'With the code of a tap, the token that the code is for. Many from a file with the columns uid or contractAddress, chainId and ' +
    "tokenId, and recipient: the whole file is checked before the first is sent, and the relayer's balance too.",
  examples: [
    'phygitals transfer --contract-address 0x5FbD…0aa3 --chain-id 31337 --token-id 7 --recipient alice.eth',
    'phygitals transfer --uid 04:DE:5F:1E:AC:C0:40 --recipient 0xde70…fb77',
    'phygitals transfer --code V1StGXR8_Z5jdHi6B-myT --recipient alice.eth',
    'phygitals transfer --file transfers.csv --dry-run',
    'phygitals transfer --file transfers.csv --failed again.csv',
  ],
  options: flags,
  run: async (ctx, { options }) => {
    const { file, uid, contractAddress, chainId, tokenId, code, recipient, idempotencyKey } = options
    if (file === undefined) {
      refuseRunFlags(options)
      await transferByFlags(ctx, options)
      return exitCodes.done
    }
    if (
      [uid, contractAddress, chainId, tokenId, code, recipient, idempotencyKey].some(
        (flag) => flag !== undefined,
      )
    )
      throw new UsageError(
        '--file already says which tokens and to whom: leave out the flags that also say it.',
      )
    return runSheet(ctx, phygitalTransfers, file, options)
  },
})

const transferByFlags = async (ctx: CliContext, options: TransferOptions): Promise<void> => {
  const { uid, code } = options
  const named = [hasTokenOptions(options), uid !== undefined, code !== undefined].filter(Boolean).length
  if (named !== 1)
    throw new UsageError(
      `${named === 0 ? 'Specify which token' : 'Specify it in one way'}: --contract-address, --chain-id and --token-id, or --uid, or --code.`,
    )
  if (code !== undefined) return byCode(ctx, code, options)
  ctx.needApiKey()
  return uid === undefined ? byToken(ctx, options) : ofChip(ctx, uid, options)
}

const byToken = async (ctx: CliContext, options: TransferOptions): Promise<void> => {
  const ref = readToken(options)
  const body = { ...ref, recipient: await readRecipient(ctx, options.recipient) }
  const sent = await sendOnce(options.idempotencyKey, (idempotencyKey) =>
    ctx.call('POST /phygitals/transfer', { body, idempotencyKey }),
  )
  await ctx.io.one(sent, ({ initialTxHash }) => ({
    Transaction: initialTxHash,
    Token: token(ref),
    To: body.recipient,
  }))
  hintAtTransaction(ctx, sent.initialTxHash)
}

const ofChip = async (ctx: CliContext, uid: string, options: TransferOptions): Promise<void> => {
  const known = await chipUid(ctx, uid, '--uid')
  const tagUID = uidOnWire(known)
  const body = { tagUID, recipient: await readRecipient(ctx, options.recipient) }
  const sent = await sendOnce(options.idempotencyKey, (idempotencyKey) =>
    ctx.call('POST /phygitals/transfer/self-service', { body, idempotencyKey }),
  ).catch((error: unknown) => {
    if (error instanceof ApiError && error.statusCode === 404 && error.message.includes('No such token'))
      throw new CliError(
        `The chip ${bothForms(known)} has no token, and it is not known which one to mint.`,
        {
          advice: `Give it one: tapchip chips link ${shellQuoted(uid)} --contract-address 0x… --chain-id N --token-id N`,
          cause: error,
        },
      )
    throw error
  })
  await ctx.io.one(sent, ({ initialTxHash, tokenRef }) => ({
    Transaction: initialTxHash,
    Token: token(tokenRef),
    To: body.recipient,
  }))
  hintAtTransaction(ctx, sent.initialTxHash)
}

const byCode = async (ctx: CliContext, code: string, options: TransferOptions): Promise<void> => {
  const body = { recipient: await readRecipient(ctx, options.recipient) }
  const sent = await sendOnce(options.idempotencyKey, (idempotencyKey) =>
    ctx.call('POST /phygitals/transfer/pullable', { code, body, idempotencyKey }),
  )
  await ctx.io.one(sent, ({ initialTxHash }) => ({ Transaction: initialTxHash, To: body.recipient }))
  hintAtTransaction(ctx, sent.initialTxHash)
}

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
    const signed = await (code === undefined
      ? signatureByToken(ctx, options)
      : signatureByCode(ctx, code, options))
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

const signatureByToken = async (
  ctx: CliContext,
  options: SignatureOptions,
): Promise<AnswerOf<'GET /phygitals/transfer-signature'>> => {
  ctx.needApiKey()
  const ref = readToken(options)
  const recipient = await readRecipient(ctx, options.recipient)
  return ctx.call('GET /phygitals/transfer-signature', { query: { ...ref, recipient } })
}

const signatureByCode = async (ctx: CliContext, code: string, options: SignatureOptions) => {
  const recipient = await readRecipient(ctx, options.recipient)
  return ctx.call('GET /phygitals/transfer-signature/pullable', { code, query: { recipient } })
}
