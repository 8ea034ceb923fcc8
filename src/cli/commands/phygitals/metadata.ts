import {
  batchFlags,
  formerConcurrencyFlag,
  refuseRunFlags,
  runFlags,
  sheetFlags,
} from '../../batch/input/flags.ts'
import { readTemplate } from '../../batch/kinds/metadata-template.ts'
import { phygitalMetadata } from '../../batch/kinds/phygital-metadata.ts'
import { runSheet } from '../../batch/run-sheet.ts'
import { defineCommand } from '../../command/define.ts'
import { text, yes } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'
import { exitCodes, UsageError } from '../../errors.ts'
import { readMetadata } from '../metadata.ts'
import { readToken, type TokenOptions, token, tokenFlags } from '../token.ts'

export const metadataFlag = {
  metadata: text('--metadata <json|@file>', 'The new metadata: JSON, or a file (@-: standard input)'),
}

interface MetadataOptions extends TokenOptions {
  readonly metadata: string | undefined
}

export const metadataByFlags = async (ctx: CliContext, options: MetadataOptions): Promise<void> => {
  ctx.needApiKey()
  const ref = readToken(options)
  const written = await ctx.prompts.text(options.metadata, {
    flag: '--metadata',
    message: 'Metadata: JSON, or @ and a file',
  })
  const metadata = await readMetadata(ctx, written, "--metadata '@jacket.json'")
  const done = await ctx.call('PATCH /phygitals/metadata', { body: { ...ref, metadata } })
  await ctx.io.one(done, () => ({ Replaced: token(ref) }))
  const base = await baseUrl(ctx)
  if (base !== undefined)
    ctx.io.hint(
      `Wallets and marketplaces read: ${base}/metadata/${ref.chainId}/${ref.contractAddress}/${ref.tokenId}`,
    )
}

/** The daemon's public URL, which may differ from ours; undefined if it does not report one. */
const baseUrl = async (ctx: CliContext): Promise<string | undefined> => {
  if (ctx.io.json || ctx.flags.quiet || !ctx.config().hasCredential()) return undefined
  try {
    return (await ctx.call('GET /admin/status')).url.replace(/\/+$/, '')
  } catch {
    return undefined
  }
}

export const metadata = defineCommand({
  name: 'metadata',
  summary: 'Replace the metadata of a token, and ask marketplaces to refresh it',
  description:
    'Replace the metadata of a token: JSON with name, collection, description, image, attributes and media_gallery; other fields are kept. ' +
    'Many from a file with the columns uid or contractAddress, chainId and tokenId, and metadata (JSON, or the path of ' +
    'a file beside it), or with the columns that a template takes. The whole file is checked before the first is written.',
  examples: [
    'phygitals metadata --contract-address 0x5FbD…0aa3 --chain-id 31337 --token-id 7 --metadata @jacket.json',
    'phygitals metadata --file metadata.csv --dry-run',
    'phygitals metadata --file sizes.csv --template jacket.json',
  ],
  options: {
    ...tokenFlags,
    ...metadataFlag,
    ...sheetFlags,
    template: text(
      '--template <file>',
      "One JSON file for all rows, whose {{column}} fields are filled from the sheet's columns",
      'file',
    ),
    ...batchFlags,
    ...runFlags,
    ...formerConcurrencyFlag,
    yes,
  },
  run: async (ctx, { options }) => {
    const { file, template, contractAddress, chainId, tokenId, metadata: written } = options
    if (file === undefined) {
      refuseRunFlags(options)
      if (template !== undefined) throw new UsageError('--template needs --file for its values.')
      await metadataByFlags(ctx, options)
      return exitCodes.done
    }
    if ([contractAddress, chainId, tokenId, written].some((flag) => flag !== undefined))
      throw new UsageError('--file already says which tokens and what: leave out the flags that also say it.')
    ctx.needApiKey()
    const read = template === undefined ? undefined : readTemplate(ctx.system, template)
    return runSheet(ctx, phygitalMetadata(read), file, options)
  },
})
