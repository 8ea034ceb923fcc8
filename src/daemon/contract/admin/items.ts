import * as z from 'zod'
import { adminEndpoint } from '../endpoint.ts'
import { name, success, team, text } from '../fields.ts'
import { itemOnWire, itemParts } from '../items.ts'

const itemId = z
  .string()
  .regex(/^[A-Za-z0-9._-]{1,64}$/, 'must be 1 to 64 letters, digits, dots, dashes or underscores')

/** Also the shape of `items` in a seed file. */
export const itemFields = {
  id: itemId,
  name: name(),
  description: text(10_000).optional(),
  imageUrl: text(4096).optional(),
  /** The symbol of one of the team's contracts. */
  contract: text(64).nullable().optional(),
  media: itemParts.media.optional(),
  attributes: itemParts.attributes.optional(),
  variants: itemParts.variants.optional(),
}

const { id: _, ...changeable } = itemFields
const changes = z.object(changeable).partial()

export const adminItems = {
  'GET /admin/items': adminEndpoint({
    id: 'adminListItems',
    summary: "List a team's items",
    scope: 'read',
    query: () => z.object(team),
    response: () => z.array(itemOnWire()),
  }),
  'POST /admin/items': adminEndpoint({
    id: 'createItem',
    summary: 'Create an item',
    scope: 'edit',
    body: () => z.object({ ...team, ...itemFields }),
    response: itemOnWire,
  }),
  'PATCH /admin/items/:id': adminEndpoint({
    id: 'editItem',
    summary: 'Change an item: the given fields replace the current ones, if these are as expected',
    scope: 'edit',
    params: () => z.object({ id: itemId }),
    body: () => changes.extend({ ...team, expected: changes.optional() }),
    response: itemOnWire,
  }),
  'DELETE /admin/items/:id': adminEndpoint({
    id: 'deleteItem',
    summary: 'Remove an item with no chips',
    scope: 'edit',
    params: () => z.object({ id: itemId }),
    query: () => z.object(team),
    response: success,
  }),
} as const
