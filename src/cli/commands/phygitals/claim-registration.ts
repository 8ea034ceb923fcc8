import { defineCommand } from '../../command/define.ts'
import type { ArgumentSpec } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'
import { UsageError } from '../../errors.ts'
import { codeFlag, idempotencyFlag, readRecipient, recipientFlag, sendOnce } from '../sending.ts'
import { hasTokenOptions, readToken, type TokenOptions, token, tokenFlags } from '../token.ts'

const actions = ['show', 'create', 'delete'] as const
type Action = (typeof actions)[number]

const action: ArgumentSpec<Action> = {
  written: '<action>',
  description: actions.join(', '),
  completion: actions,
  read: (raw) => {
    const found = actions.find((one) => one === raw)
    if (found !== undefined) return found
    throw new UsageError(`phygitals claim-registration takes ${actions.join(', ')}, not "${String(raw)}".`)
  },
}

export const claimRegistration = defineCommand({
  name: 'claim-registration',
  summary: 'Show, create or delete the registration of a recipient for a token',
  description:
    'If a contract requires two taps, the first one registers who will receive the token, and a later one transfers it. ' +
    'A registration is made with an API key, or with the code of a tap.',
  examples: [
    'phygitals claim-registration show --contract-address 0x5FbD…0aa3 --chain-id 31337 --token-id 7 --recipient alice.eth',
    'phygitals claim-registration create --code V1StGXR8_Z5jdHi6B-myT --recipient alice.eth',
    'phygitals claim-registration delete --contract-address 0x5FbD…0aa3 --chain-id 31337 --token-id 7 --recipient alice.eth',
  ],
  args: { action },
  options: { ...tokenFlags, ...codeFlag, ...idempotencyFlag, ...recipientFlag },
  run: async (ctx, { args, options }) => {
    const { code } = options
    if (code !== undefined && args.action !== 'create')
      throw new UsageError(`A code creates a registration; to ${args.action} one, leave --code out.`)
    if (code === undefined && options.idempotencyKey !== undefined)
      throw new UsageError('--idempotency-key needs --code: without one, a repetition registers again.')
    if (code !== undefined && hasTokenOptions(options))
      throw new UsageError('--code already says which token: leave out the flags that also say it.')
    if (code !== undefined) return createByCode(ctx, code, options)
    await { show, create, delete: remove }[args.action](ctx, options)
  },
})

interface RegistrationOptions extends TokenOptions {
  readonly recipient: string | undefined
  readonly idempotencyKey: string | undefined
}

const readRequest = async (ctx: CliContext, options: RegistrationOptions) => ({
  ...readToken(options),
  recipient: await readRecipient(ctx, options.recipient),
})

const show = async (ctx: CliContext, options: RegistrationOptions): Promise<void> => {
  const query = await readRequest(ctx, options)
  const found = await ctx.call('GET /phygitals/claim-registration', { query })
  await ctx.io.one(found, (it) => ({
    Recipient: it.recipient,
    Token: token({ ...it.linkedToken, chainId: Number(it.linkedToken.chainId) }),
    'Second tap needed': it.isRequired,
    'Good now': it.isValid,
    From: it.allowedAt,
    Until: it.expiresAt,
    Registered: it.createdAt,
  }))
  if (!found.isRequired) ctx.io.hint('The contract requires no second tap: one is enough.')
}

interface ClaimRegistration {
  readonly recipient: string
  readonly linkedToken: { contractAddress: string; chainId: string; tokenId: string }
  readonly allowedAt: string
  readonly expiresAt: string
}

const print = async (ctx: CliContext, made: ClaimRegistration): Promise<void> => {
  await ctx.io.one(made, (it) => ({
    Recipient: it.recipient,
    Token: token({ ...it.linkedToken, chainId: Number(it.linkedToken.chainId) }),
    From: it.allowedAt,
    Until: it.expiresAt,
  }))
  ctx.io.hint('Then, with the code of a later tap: tapchip phygitals transfer --code CODE --recipient WHO')
}

const create = async (ctx: CliContext, options: RegistrationOptions): Promise<void> => {
  ctx.needApiKey()
  const body = await readRequest(ctx, options)
  await print(ctx, await ctx.call('POST /phygitals/claim-registration', { body }))
}

const createByCode = async (ctx: CliContext, code: string, options: RegistrationOptions): Promise<void> => {
  const body = { recipient: await readRecipient(ctx, options.recipient) }
  const made = await sendOnce(options.idempotencyKey, (idempotencyKey) =>
    ctx.call('POST /phygitals/claim-registration/pullable', { code, body, idempotencyKey }),
  )
  await print(ctx, made)
}

const remove = async (ctx: CliContext, options: RegistrationOptions): Promise<void> => {
  ctx.needApiKey()
  const body = await readRequest(ctx, options)
  const done = await ctx.call('DELETE /phygitals/claim-registration', { body })
  await ctx.io.one(done, () => ({ Deleted: `${body.recipient} for ${token(body)}` }))
  ctx.io.hint('Register again: tapchip phygitals claim-registration create --help')
}
