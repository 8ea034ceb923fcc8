import { readJsonObject } from '../../batch/input/source.ts'
import type { AnswerOf } from '../../client/types.ts'
import { argument, text, type Values } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'

export const itemArgument = { item: argument('item', 'Its id') }

export const printItem = (ctx: CliContext, item: AnswerOf<'GET /items/:itemId'>): Promise<void> =>
  ctx.io.one(item, (shown) => ({
    Id: shown.id,
    Name: shown.name,
    Description: shown.description,
    Image: shown.imageUrl,
    Contract:
      shown.contract &&
      `${shown.contract.symbol} (${shown.contract.address ?? 'not deployed'}, chain ${shown.contract.chainId})`,
    Media: shown.media.map(({ url }) => url),
    Attributes: shown.attributes.map(({ name, values }) => `${name}: ${values.join('/')}`),
    Variants: shown.variants.map(({ id }) => id),
  }))

export const itemFlags = {
  file: text('-f, --file <file>', 'JSON with the fields of an item; - for standard input', 'file'),
  name: text('--name <name>', 'Its name'),
  description: text('--description <text>', 'Its description'),
  imageUrl: text('--image-url <url>', 'Its image'),
  contract: text('--contract <symbol>', 'The contract whose tokens it is the template of'),
}

/** The fields of the file; flags take precedence. The daemon checks them. */
export const readItem = async (
  ctx: CliContext,
  itemOptions: Values<typeof itemFlags>,
): Promise<Readonly<Record<string, unknown>>> => {
  const { file, name, description, imageUrl, contract } = itemOptions
  const members = file === undefined ? {} : await readJsonObject(ctx.system, file)
  const flags = Object.entries({ name, description, imageUrl, contract }).filter(
    ([, value]) => value !== undefined,
  )
  return { ...members, ...Object.fromEntries(flags) }
}
