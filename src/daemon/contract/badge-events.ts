import * as z from 'zod'
import { isEventUrl, maxEventCodes, maxEventText } from '../../values/badge-event.ts'
import { isInstant, readMoment } from '../../values/date.ts'
import { endpoint, keyEndpoint, publicEndpoint } from './endpoint.ts'
import {
  address,
  badgeStatus,
  batchId,
  flag,
  integer,
  mustBe,
  name,
  requiredUnless,
  success,
  text,
  tokenId,
  uid,
} from './fields.ts'
import { list } from './list.ts'
import { recipient } from './phygitals.ts'

const formFlag = z
  .string(mustBe('true or false'))
  .regex(/^\s*(true|false|1|0|)\s*$/i, 'must be true or false')
  .transform((value) => /true|1/i.test(value))
  .meta({ type: 'boolean' })

const day = z.string(mustBe('a day, as YYYY-MM-DD')).transform((value) => value.trim())

const website = text(maxEventText.eventURL).refine(isEventUrl, 'must be an http(s) URL')

/** The text fields of POST /badge-events. Whether the days exist is checked later. */
export const newBadgeEvent = z.object({
  name: name(maxEventText.name),
  description: text(maxEventText.description),
  city: text(maxEventText.city),
  country: text(maxEventText.country),
  startDate: day,
  endDate: day,
  expiryDate: day,
  eventURL: website.optional(),
  requestedCodes: integer(0, maxEventCodes),
  virtualEvent: formFlag,
  privateEvent: formFlag.optional(),
  maxPerRecipient: integer(1, maxEventCodes).optional(),
})

const instantForm = 'an existing time with its zone, as YYYY-MM-DDTHH:mm:ssZ'
/** YYYY-MM-DDTHH:mm:ssZ, or with an offset as moment and dayjs write it; the output is in UTC, with milliseconds. */
export const instant = z.string(mustBe(instantForm)).transform((value, ctx) => {
  const read = isInstant(value) ? readMoment(value) : undefined
  if (read !== undefined) return read
  ctx.addIssue({ code: 'custom', message: `must be ${instantForm}` })
  return z.NEVER
})

const eventId = integer(1)

const isPresent = (value: unknown): boolean => value !== undefined && value !== null
const chipOr =
  (field: 'contractAddress' | 'chainId' | 'tokenId') => (body: Partial<Record<string, unknown>>) =>
    isPresent(body.tagUID) || isPresent(body[field])
/** An event as POAP describes it. */
export const poapEvent = () =>
  z.object({
    id: z.number(),
    fancy_id: z.string(),
    name: z.string(),
    description: z.string(),
    city: z.string(),
    country: z.string(),
    event_url: z.string(),
    image_url: z.string(),
    animation_url: z.string(),
    year: z.number(),
    start_date: z.string(),
    end_date: z.string(),
    expiry_date: z.string(),
    from_admin: z.boolean(),
    virtual_event: z.boolean(),
    event_template_id: z.number(),
    private_event: z.boolean(),
  })

export const badgeEvents = {
  'POST /badge-events': keyEndpoint({
    id: 'createBadgeEvent',
    summary: 'Create a badge event, with its image',
    description:
      'Keep the `id` of the answer: it identifies the event everywhere here. Codes come once the event is approved.',
    scope: 'edit',
    isRepeatable: true,
    bodyLimit: 4 * 1024 * 1024 + 256 * 1024,
    /** `once`: an event that the team created of the same fields and image is the answer, as `unchanged`. */
    query: () => z.object({ once: flag.optional() }),
    form: () => newBadgeEvent,
    stream: {
      contentTypes: ['multipart/form-data'],
      description: `A form with ${Object.keys(newBadgeEvent.shape).join(', ')}, and the file image: a GIF or PNG under 4 MB`,
    },
    response: () =>
      z.object({ id: z.number(), poapResponse: poapEvent(), unchanged: z.boolean().optional() }),
  }),
  'GET /badge-events/:id': publicEndpoint({
    id: 'getBadgeEvent',
    summary: 'Read a badge event; a private one with an API key of its team',
    params: () => z.object({ id: eventId }),
    response: () =>
      z.object({
        id: z.number(),
        poapEventId: z.number(),
        name: z.string(),
        description: z.string(),
        /** Empty if there is none. */
        imageUrl: z.string(),
        city: z.string(),
        country: z.string(),
        startDate: z.string(),
        endDate: z.string(),
        expiryDate: z.string(),
        eventURL: z.string(),
        virtualEvent: z.boolean(),
        status: badgeStatus(),
      }),
  }),
  'POST /badge-events/assign': keyEndpoint({
    id: 'assignBadgeEvent',
    summary: 'Assign a badge event to a chip or a token, whose taps then give codes for it',
    description:
      'The chip is named by `tagUID`, or the chips of a token by `contractAddress`, `chainId`, and `tokenId`. Without a window, taps always list the event.',
    example: { poapEventId: 1, tagUID: '1293660434600336' },
    scope: 'transfer',
    emptyIsAbsent: ['startsAt', 'endsAt', 'contractAddress', 'chainId', 'tokenId', 'tagUID'],
    body: () =>
      z
        .object({
          poapEventId: eventId,
          startsAt: instant.nullish(),
          endsAt: instant.nullish(),
          title: text(500).nullish(),
          description: text(5000).nullish(),
          contractAddress: address.nullish(),
          chainId: integer(1).nullish(),
          tokenId: tokenId.nullish(),
          tagUID: uid.nullish(),
        })
        .refine(chipOr('contractAddress'), requiredUnless('tagUID', 'contractAddress'))
        .refine(chipOr('chainId'), requiredUnless('tagUID', 'chainId'))
        .refine(chipOr('tokenId'), requiredUnless('tagUID', 'tokenId')),
    /** `report`: the answer says whether anything changed, and whether the batch that asks replaced another window or text. */
    query: () => z.object({ report: flag.optional() }),
    response: () => success().extend({ unchanged: z.boolean().optional(), replaced: z.boolean().optional() }),
  }),
  'POST /badge-events/assign/undo': endpoint({
    id: 'undoBadgeEventAssignments',
    part: 'beyond',
    summary:
      'Unassign events that a batch assigned, unless a badge was minted with them since; one result per row, in order',
    auth: 'api-key',
    scope: 'transfer',
    query: () => z.object({ dryRun: flag.optional() }),
    body: () =>
      z.object({
        batch: batchId,
        assignments: list(z.object({ tagUID: uid, poapEventId: eventId })),
      }),
    response: () =>
      z.array(z.object({ status: z.enum(['removed', 'unchanged', 'failed']), error: z.string().optional() })),
  }),
  'POST /badge-events/mint': endpoint({
    id: 'mintBadge',
    part: 'interface',
    summary: 'Mint a badge of the event that a code is for; the code is used up',
    auth: 'code',
    description:
      "The code is the `otp` that a ref gives for the event. If the mint is refused, the code stays valid, and the message is the provider's.",
    scope: 'transfer',
    isRepeatable: true,
    body: () =>
      z.object({
        recipient,
        poapEventId: eventId,
        deviceId: text(1000).nullish(),
      }),
    response: success,
  }),
} as const
