import { stringifyExact } from '../../values/json.ts'
import { readJsonObject } from '../batch/input/source.ts'
import { text } from '../command/options.ts'
import type { CliContext } from '../context.ts'
import { UsageError } from '../errors.ts'

export const metadataFlags = {
  metadata: text('--metadata <json|@file>', 'The metadata: JSON, or a file'),
  file: text('-f, --file <file>', 'A file with the metadata; - for standard input', 'file'),
}

export const metadataFields =
  'Metadata is JSON with name, collection, description, image and attributes; other fields are kept.'

/**
 * Reads JSON, or `@` and a file, as the text that is sent. The daemon checks its fields.
 * @param advice how the command takes a file
 */
export const readMetadata = async (ctx: CliContext, written: string, advice: string): Promise<string> => {
  if (written.startsWith('@')) return stringifyExact(await readJsonObject(ctx.system, written.slice(1)))
  try {
    JSON.parse(written)
    return written
  } catch {
    throw new UsageError('--metadata is not JSON.', `Put it in single quotes, or give a file: ${advice}`)
  }
}

export const readEventMetadata = async (
  ctx: CliContext,
  options: { readonly metadata: string | undefined; readonly file: string | undefined },
): Promise<string> => {
  if (options.file !== undefined && options.metadata !== undefined)
    throw new UsageError('Use --metadata or --file, not both.')
  if (options.file !== undefined) return stringifyExact(await readJsonObject(ctx.system, options.file))
  const written = await ctx.prompts.text(options.metadata, {
    flag: '--metadata or --file',
    message: 'Metadata: JSON, or @ and a file',
  })
  return readMetadata(ctx, written, '--file event.json')
}
