import { ApiError } from '../../client/errors.ts'
import type { CliContext } from '../../context.ts'
import { CliError, UsageError } from '../../errors.ts'
import { asWord } from '../../io/text.ts'
import { bothForms, readUid, uidOnWire } from '../../uid.ts'
import { token } from '../fields.ts'
import { sendOnce } from '../sending.ts'
import { isTokenGiven, readToken, type TokenGiven } from '../token-flags.ts'
import { readRecipient } from './recipient.ts'

interface Given extends TokenGiven {
  readonly uid: string | undefined
  readonly code: string | undefined
  readonly recipient: string | undefined
  readonly idempotencyKey: string | undefined
}

/** Transfers one token: the one that is named, that of a chip, or what a code is for. */
export const transferByFlags = async (ctx: CliContext, given: Given): Promise<void> => {
  const { uid, code } = given
  const named = [isTokenGiven(given), uid !== undefined, code !== undefined].filter(Boolean).length
  if (named !== 1)
    throw new UsageError(
      `${named === 0 ? 'Say which token' : 'Say it in one way'}: --contract-address, --chain-id and --token-id, or --uid, or --code.`,
    )
  if (code !== undefined) return byCode(ctx, code, given)
  ctx.needApiKey()
  return uid === undefined ? byToken(ctx, given) : ofChip(ctx, uid, given)
}

const byToken = async (ctx: CliContext, given: Given): Promise<void> => {
  const ref = readToken(given)
  const body = { ...ref, recipient: await readRecipient(ctx, given.recipient) }
  const sent = await sendOnce(given.idempotencyKey, (idempotencyKey) =>
    ctx.call('POST /phygitals/transfer', { body, idempotencyKey }),
  )
  await ctx.io.one(sent, ({ initialTxHash }) => ({
    Transaction: initialTxHash,
    Token: token(ref),
    To: body.recipient,
  }))
  hintAt(ctx, sent.initialTxHash)
}

const ofChip = async (ctx: CliContext, uid: string, given: Given): Promise<void> => {
  const tagUID = uidOnWire(readUid(uid, '--uid'))
  const body = { tagUID, recipient: await readRecipient(ctx, given.recipient) }
  const sent = await sendOnce(given.idempotencyKey, (idempotencyKey) =>
    ctx.call('POST /phygitals/transfer/self-service', { body, idempotencyKey }),
  ).catch((error: unknown) => {
    if (error instanceof ApiError && error.statusCode === 404 && error.message.includes('No such token'))
      throw new CliError(
        `The chip ${bothForms(readUid(uid))} carries no token, and nothing says which one it would get.`,
        {
          advice: `Give it one: tapchip chips link ${asWord(uid)} --contract-address 0x… --chain-id N --token-id N`,
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
  hintAt(ctx, sent.initialTxHash)
}

const byCode = async (ctx: CliContext, code: string, given: Given): Promise<void> => {
  const body = { recipient: await readRecipient(ctx, given.recipient) }
  const sent = await sendOnce(given.idempotencyKey, (idempotencyKey) =>
    ctx.call('POST /phygitals/transfer/pullable', { code, body, idempotencyKey }),
  )
  await ctx.io.one(sent, ({ initialTxHash }) => ({ Transaction: initialTxHash, To: body.recipient }))
  hintAt(ctx, sent.initialTxHash)
}

const hintAt = (ctx: CliContext, hash: string): void =>
  ctx.io.hint(`It is on its way. Where it is: tapchip transactions show ${hash}`)
