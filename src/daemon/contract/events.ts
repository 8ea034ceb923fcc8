import * as z from 'zod'
import { endpoint, keyEndpoint } from './endpoint.ts'
import {
  address,
  flag,
  integer,
  name,
  requiredUnless,
  success,
  text,
  timestamp,
  tokenId,
  uidList,
} from './fields.ts'
import { eventMetadata } from './metadata.ts'
import { recipient } from './phygitals.ts'

const sent = () => z.object({ success: z.literal(true), txnHash: z.string() })

// An event is identified by ID or by contract and token ID. The sample for PATCH /events/metadata has contractId
// beside tokenId, so that pair works too.
const event = {
  eventId: integer(1).optional(),
  tokenId: tokenId.optional(),
  contractId: integer(1).optional(),
  contractAddress: address.optional(),
  chainId: integer(1).optional(),
}

/** Apps send all of them, and null for what they do not know. */
const emptyIsAbsent = Object.keys(event)

type EventReference = Partial<Record<string, unknown>>

const isPresent = (value: unknown): boolean => value !== undefined
const hasToken = ({ eventId, tokenId: id }: EventReference) => isPresent(eventId) || isPresent(id)
const hasContract =
  (field: string) =>
  ({ eventId, contractId, ...rest }: EventReference) =>
    isPresent(eventId) || isPresent(contractId) || isPresent(rest[field])

const aboutEvent = <F extends z.ZodRawShape>(fields: F) =>
  z
    .object({ ...event, ...fields })
    .refine(hasToken, requiredUnless('eventId', 'tokenId'))
    .refine(hasContract('contractAddress'), requiredUnless('eventId', 'contractAddress'))
    .refine(hasContract('chainId'), requiredUnless('eventId', 'chainId'))

export const events = {
  'POST /events/contracts': keyEndpoint({
    id: 'deployGuestbookContract',
    summary: 'Deploy a guestbook contract',
    scope: 'transfer',
    isRepeatable: true,
    body: () => z.object({ name: name(), symbol: name(32), chainId: integer(1) }),
    response: () => z.object({ success: z.literal(true), contractId: z.number() }),
  }),
  'GET /events/contracts': keyEndpoint({
    id: 'listGuestbookContracts',
    summary: "List the team's guestbook contracts",
    scope: 'read',
    response: () =>
      z.array(
        z.object({
          id: z.number(),
          name: z.string(),
          symbol: z.string(),
          address: z.string().nullable(),
          chainId: z.number(),
          createdAt: timestamp,
          status: z.enum(['pending', 'confirmed']),
        }),
      ),
  }),
  'POST /events': keyEndpoint({
    id: 'createGuestbookEvent',
    summary: 'Create a guestbook event',
    scope: 'transfer',
    isRepeatable: true,
    namesFields: true,
    body: () => z.object({ name: name(), tokenId, contractId: integer(1), metadata: eventMetadata }),
    response: () => z.object({ success: z.literal(true), id: z.number() }),
  }),
  'GET /events': keyEndpoint({
    id: 'listGuestbookEvents',
    summary: "List the team's guestbook events",
    scope: 'read',
    emptyIsAbsent,
    query: () => z.object({ contractId: integer(1).optional() }),
    response: () =>
      z.array(
        z.object({
          id: z.number(),
          name: z.string(),
          contract: z.object({
            id: z.number(),
            // The interface's table calls it `address`; its sample and existing clients use `contractAddress`.
            address: z.string().nullable(),
            contractAddress: z.string().nullable(),
            chainId: z.number(),
            tokenId: z.string(),
          }),
          createdAt: timestamp,
        }),
      ),
  }),
  'PATCH /events/metadata': keyEndpoint({
    id: 'updateGuestbookEventMetadata',
    summary: "Replace a guestbook event's metadata and refresh it at marketplaces",
    description:
      'The event is named by `eventId`, or by its token: `contractAddress`, `chainId`, and `tokenId`.',
    example: {
      eventId: 1,
      metadata: '{"name":"Opening","collection":"Guests","description":"","image":"","attributes":[]}',
    },
    scope: 'edit',
    emptyIsAbsent,
    namesFields: true,
    body: () => aboutEvent({ name: text(200).optional(), metadata: eventMetadata }),
    response: success,
  }),
  'POST /events/mint': keyEndpoint({
    id: 'mintGuestbookToken',
    summary: "Mint the token of one of the team's guestbook events",
    description:
      'The event is named by `eventId`, or by its token: `contractAddress`, `chainId`, and `tokenId`.',
    example: { eventId: 1, recipient: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266' },
    scope: 'transfer',
    emptyIsAbsent,
    isRepeatable: true,
    body: () => aboutEvent({ recipient }),
    response: sent,
  }),
  'POST /events/mint/self': endpoint({
    id: 'mintGuestbookTokenWithCode',
    part: 'interface',
    summary: 'Mint the token of the guestbook event that a code is for; the code is used up',
    auth: 'code',
    scope: 'transfer',
    isRepeatable: true,
    body: () => z.object({ recipient }),
    response: sent,
  }),
  'POST /events/assign/legacy': keyEndpoint({
    id: 'assignGuestbookEvent',
    summary: 'Assign a guestbook event to chips, whose taps then give codes for it',
    scope: 'transfer',
    bodyLimit: 4 * 1024 * 1024,
    body: () => z.object({ tagUIDs: uidList, guestbookEventId: integer(1) }),
    /** `report`: the answer says to how many chips the event is newly assigned. */
    query: () => z.object({ report: flag.optional() }),
    response: () => success().extend({ assigned: z.number().optional() }),
  }),
  'POST /events/toggle-pause-state': keyEndpoint({
    id: 'setGuestbookPauseState',
    summary: 'Pause or resume transfers between holders of a guestbook contract',
    description: 'The contract is named by `contractId`, or by `contractAddress` and `chainId`.',
    example: { contractId: 1, pauseState: true },
    scope: 'transfer',
    emptyIsAbsent,
    isRepeatable: true,
    body: () =>
      z
        .object({
          contractId: event.contractId,
          contractAddress: event.contractAddress,
          chainId: event.chainId,
          pauseState: z.boolean('must be true or false'),
        })
        .refine(hasContract('contractAddress'), requiredUnless('contractId', 'contractAddress'))
        .refine(hasContract('chainId'), requiredUnless('contractId', 'chainId')),
    response: sent,
  }),
} as const
