import type { AnswerOf } from '../../client/types.ts'
import { argument } from '../../command/options.ts'
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
