import * as z from 'zod'
import { withoutChainPrefix } from '../../values/recipient.ts'
import { addressForm, notAnAddress } from '../../values/token.ts'
import { poapEvent } from './badge-events.ts'
import { publicEndpoint } from './endpoint.ts'
import { integer, tokenId } from './fields.ts'

const upstreamId = integer(1).meta({
  description: "The event's id at the badge provider",
  examples: [100000],
})

const poapBadge = () =>
  z.object({
    event: poapEvent(),
    tokenId: z.string(),
    owner: z.string(),
    chain: z.string(),
    created: z.string(),
  })

/** Badges of the embedded provider are on no chain, so any wallet's address is accepted. */
const wallet = z
  .string()
  .overwrite((text) => {
    const read = withoutChainPrefix(text, undefined)
    return read && 'address' in read ? read.address : text
  })
  .regex(addressForm, notAnAddress)

/** Fields of events and badges that POAP's own clients read, for events of the embedded provider. */
export const poapReads = {
  'GET /events/id/:id': publicEndpoint({
    id: 'getPoapEvent',
    summary: 'Read an event of the embedded badge provider as POAP describes its own',
    params: () => z.object({ id: upstreamId }),
    response: poapEvent,
  }),
  'GET /metadata/:eventId/:tokenId': publicEndpoint({
    id: 'getPoapMetadata',
    summary:
      'Read the metadata of a badge as POAP gives it; it is the same for every badge of the event, and 404 where there is no such badge',
    params: () => z.object({ eventId: upstreamId, tokenId }),
    response: () =>
      z.object({
        name: z.string(),
        description: z.string(),
        image: z.string(),
        image_url: z.string(),
        external_url: z.string(),
        home_url: z.string(),
        year: z.number(),
        tags: z.array(z.string()),
        attributes: z.array(z.object({ trait_type: z.string(), value: z.string() })),
      }),
  }),
  'GET /actions/scan/:address': publicEndpoint({
    id: 'listPoapBadges',
    summary:
      'List the badges that an address has from the embedded badge provider, newest first, as POAP lists its own',
    params: () => z.object({ address: wallet }),
    response: () => z.array(poapBadge()),
  }),
  'GET /actions/scan/:address/:eventId': publicEndpoint({
    id: 'getPoapBadge',
    summary:
      "Read an address's badge of one event, as POAP's clients do before they offer one; 404 if it has none",
    params: () => z.object({ address: wallet, eventId: upstreamId }),
    response: poapBadge,
  }),
} as const
