import { text } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'
import { UsageError } from '../../errors.ts'
import { readJsonObject } from '../../json-file.ts'
import { token } from '../fields.ts'
import { readToken, type TokenGiven } from '../token-flags.ts'

export const metadataFlag = {
  metadata: text(
    '--metadata <json|@file>',
    'The new metadata: JSON, or the file that holds it (@-: standard input)',
  ),
}

interface Given extends TokenGiven {
  readonly metadata: string | undefined
}

/** Replaces the metadata of one token. */
export const metadataByFlags = async (ctx: CliContext, given: Given): Promise<void> => {
  ctx.needApiKey()
  const ref = readToken(given)
  const written = await ctx.prompts.text(given.metadata, {
    flag: '--metadata',
    message: 'Metadata: JSON, or @ and a file',
  })
  const metadata = await readMetadata(ctx, written)
  const done = await ctx.call('PATCH /phygitals/metadata', { body: { ...ref, metadata } })
  await ctx.io.one(done, () => ({ Replaced: token(ref) }))
  const base = await baseUrl(ctx)
  if (base !== undefined)
    ctx.io.hint(
      `What wallets and marketplaces read: ${base}/metadata/${ref.chainId}/${ref.contractAddress}/${ref.tokenId}`,
    )
}

/** As the daemon calls itself to the world, which need not be where we reach it; undefined where it does not tell us. */
const baseUrl = async (ctx: CliContext): Promise<string | undefined> => {
  if (ctx.io.json || ctx.flags.quiet || !ctx.config().adminToken()) return undefined
  try {
    return (await ctx.call('GET /admin/status')).url.replace(/\/+$/, '')
  } catch {
    return undefined
  }
}

/** As the wire carries it: JSON in its text. The daemon checks what is in it. */
const readMetadata = async (ctx: CliContext, written: string): Promise<string> => {
  if (written.startsWith('@')) return JSON.stringify(await readJsonObject(ctx.at, written.slice(1)))
  try {
    JSON.parse(written)
    return written
  } catch {
    throw new UsageError(
      '--metadata is not JSON.',
      "Put it in single quotes, or give a file: --metadata '@jacket.json'",
    )
  }
}
