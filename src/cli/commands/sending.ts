import { randomUUID } from 'node:crypto'
import { tidyCell } from '../../values/invisible.ts'
import { ApiError, DaemonUnreachable } from '../client/errors.ts'
import { type OptionSpec, text } from '../command/options.ts'
import type { CliContext } from '../context.ts'
import { UsageError } from '../errors.ts'

const inHeader = (flags: string, description: string, maxLength: number): OptionSpec<string | undefined> => ({
  flags,
  description,
  read: (raw) => {
    if (typeof raw !== 'string') return undefined
    if (/^[\x21-\x7e]+$/.test(raw) && raw.length <= maxLength) return raw
    throw new UsageError(`${flags.split(' ')[0]} must be 1 to ${maxLength} visible ASCII characters.`)
  },
})

export const codeFlag = {
  code: inHeader('--code <code>', 'The code of a tap, which is used up', 255),
}

export const idempotencyFlag = {
  idempotencyKey: inHeader(
    '--idempotency-key <key>',
    'A repetition with the same key takes effect only once (default: a new key)',
    255,
  ),
}

const mayBeRecorded = (error: unknown): error is DaemonUnreachable | ApiError => {
  if (error instanceof DaemonUnreachable) return true
  if (!(error instanceof ApiError) || error.statusCode < 500) return false
  // A chain that is unavailable prevents recording, unless the message says that it is recorded and waiting.
  const isChain = error.code === 'chain_unavailable' || error.code === 'chain_not_configured'
  return !isChain || /recorded/.test(error.message)
}

/** Sends a request that must take effect once: it can be repeated, automatically and by hand. */
export const sendOnce = async <T>(
  value: string | undefined,
  send: (idempotencyKey: string) => Promise<T>,
): Promise<T> => {
  const key = value ?? randomUUID()
  try {
    return await send(key)
  } catch (error) {
    if (mayBeRecorded(error) && value === undefined)
      error.afterword = `Run it again with --idempotency-key ${key}: it takes effect only once, whether or not this attempt did.`
    throw error
  }
}

export const recipientFlag = {
  recipient: text('--recipient <address|name>', 'Who gets it: an address, or an ENS name'),
}

/** Without what cannot be seen, which would be shown again. */
export const readRecipient = async (ctx: CliContext, value: string | undefined): Promise<string> => {
  const message = 'Recipient: an address, or an ENS name'
  return tidyCell('recipient', await ctx.prompts.text(value, { flag: '--recipient', message }))
}

export const hintAtTransaction = (ctx: CliContext, hashOrId: string | number): void =>
  ctx.io.hint(`It is on its way. Follow it: tapchip transactions show ${hashOrId}`)
