import * as z from 'zod'
import { keyEndpoint } from './endpoint.ts'
import { address, integer, name, text, tokenRef } from './fields.ts'
import { list, shortList } from './list.ts'

const media = z.object({ mimeType: name(), url: text(4096) })
const attribute = z.object({ name: name(), values: shortList(text()) })
const variant = z.object({
  id: name(64),
  attributes: shortList(z.object({ name: name(), value: text() }), { max: 100 }),
})

export const itemParts = {
  media: list(media, { max: 100 }),
  attributes: list(attribute, { max: 100 }),
  variants: list(variant, { max: 1000 }),
}

export const itemOnWire = () =>
  z.object({
    id: z.string(),
    name: z.string(),
    description: z.string(),
    imageUrl: z.string(),
    contract: z
      .object({ name: z.string(), symbol: z.string(), address: z.string().nullable(), chainId: z.number() })
      .nullable(),
    media: z.array(media),
    featuredMedia: media.nullable(),
    attributes: z.array(attribute),
    variants: z.array(variant),
  })

export const items = {
  'GET /items': keyEndpoint({
    id: 'listItems',
    summary: "List the team's items",
    scope: 'read',
    emptyIsAbsent: ['contractAddress', 'chainId'],
    query: () => z.object({ contractAddress: address.optional(), chainId: integer(1).optional() }),
    response: () => z.array(itemOnWire()),
  }),
  'GET /items/:itemId': keyEndpoint({
    id: 'getItem',
    summary: 'Fetch an item',
    scope: 'read',
    params: () => z.object({ itemId: z.string() }),
    response: itemOnWire,
  }),
  'GET /items/:itemId/chips': keyEndpoint({
    id: 'listItemChips',
    summary: 'List the chips of an item',
    scope: 'read',
    params: () => z.object({ itemId: z.string() }),
    response: () => z.array(z.object({ uid: z.string(), linkedToken: tokenRef().optional() })),
  }),
} as const
