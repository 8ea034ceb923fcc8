import * as z from 'zod'
import { endpoint } from './endpoint.ts'
import { badgeStatus, code21, flag, tokenRef } from './fields.ts'

const text = (description: string, example: string) => z.string().meta({ description, examples: [example] })

/** A token's metadata in the marketplaces' format, with any other fields that its team added. */
const marketplaceMetadata = () =>
  z.looseObject({
    name: text("The token's name", 'Jacket #7'),
    description: text("The token's description", 'A shell jacket.'),
    image: text("The image's address", 'https://img.example/jacket.png'),
    external_url: text("The token's page, or empty", 'https://acme.example/jacket'),
    attributes: z.array(
      z.looseObject({
        trait_type: z.unknown().meta({ description: "The attribute's name", examples: ['Size'] }),
        value: z.unknown().meta({ description: "The attribute's value", examples: ['M'] }),
      }),
    ),
  })

export const refs = {
  'GET /refs/:id': endpoint({
    id: 'getRef',
    part: 'interface',
    summary: 'Query a ref, which is valid once and then gives its codes',
    auth: 'none',
    keyIsOptional: true,
    description:
      'The first query of a ref within half an hour after its tap gives codes; a later one answers with `isValidRef` false. A ref from a redirect needs no key. One from a link on the tap page needs the API key of its team: without it, the ref reads as invalid, and is not used up.',
    scope: 'read',
    noStore: true,
    params: () => z.object({ id: code21 }),
    query: () =>
      z.object({
        includeOwner: flag.optional(),
        includeMetadata: flag.optional(),
      }),
    response: () =>
      z.object({
        uid: z.string(),
        isValidRef: z.boolean(),
        otp: z.string().optional(),
        linkedToken: tokenRef()
          .extend({
            otp: z.string().optional(),
            ownerAddress: z.string().optional(),
            metadata: marketplaceMetadata().optional(),
          })
          .optional(),
        badgeEvents: z.array(
          z.object({
            id: z.number(),
            poapEventId: z.number(),
            otp: z.string().optional(),
            status: badgeStatus(),
          }),
        ),
        guestbookEvents: z.array(
          tokenRef().extend({ contractAddress: z.string().nullable(), otp: z.string().optional() }),
        ),
      }),
  }),
} as const
