import * as z from 'zod'
import { isDay } from '../../values/date.ts'
import { twoTapPolicy } from '../contract/admin/contracts.ts'
import { itemFields } from '../contract/admin/items.ts'
import { keySetFields } from '../contract/admin/key-sets.ts'
import { brandFields } from '../contract/admin/teams.ts'
import { instant } from '../contract/badge-events.ts'
import { address, chipText, chipValue, integer, name, text, tokenId, uid } from '../contract/fields.ts'
import { partialMetadata } from '../contract/metadata.ts'

const list = <T extends z.ZodType>(of: T) => z.array(of).default([])

const day = z.string().refine(isDay, 'must be a date that exists, as YYYY-MM-DD')

const chip = z.object({
  uid: uid.optional(),
  family: z.enum(['ntag424', 'halo']).default('ntag424'),
  keySet: chipValue('keySet').optional(),
  publicKey: text(200).optional(),
  /** 0 for a chip that was personalized once. */
  generation: integer(0, 254).default(0),
  fileReadKey: chipText('fileReadKey').optional(),
  metaReadKey: chipText('metaReadKey').optional(),
  lastCounter: integer(0, 0xffffffff).optional(),
  label: chipText('label').optional(),
  redirectUrl: chipText('redirectUrl').nullable().default(null),
  item: chipText('item').optional(),
  variant: chipText('variant').optional(),
  token: z
    .object({ contract: name(32), tokenId, owner: address.optional(), metadata: partialMetadata.optional() })
    .optional(),
})

const phygitalContract = z.object({
  symbol: name(32),
  name: name(),
  chainId: integer(1),
  address: address.optional(),
  twoTap: twoTapPolicy.nullable().optional(),
})

const guestbookContract = z.object({
  symbol: name(32),
  name: name(),
  chainId: integer(1),
  address: address.optional(),
  events: list(z.object({ name: name(), tokenId, metadata: partialMetadata.prefault({}), chips: list(uid) })),
})

const window = z.object({
  uid,
  startsAt: instant.nullable().default(null),
  endsAt: instant.nullable().default(null),
})

/** A UID, or a UID with the window in which the chip shows the event. */
const assigned = z.preprocess(
  (value) => (typeof value === 'object' && value !== null ? value : { uid: value }),
  window.refine(({ startsAt, endsAt }) => startsAt === null || endsAt === null || startsAt <= endsAt, {
    path: ['endsAt'],
    message: 'must not be before startsAt',
  }),
)

const badgeEvent = z
  .object({
    name: name(256),
    description: text(1500).default(''),
    city: text(256).default(''),
    country: text(256).default(''),
    startDate: day,
    endDate: day,
    expiryDate: day,
    eventURL: text(4096).default(''),
    privateEvent: z.boolean().default(false),
    virtualEvent: z.boolean().default(false),
    requestedCodes: integer(0, 1_000_000).default(0),
    maxPerRecipient: integer(1, 1_000_000).default(1),
    chips: list(assigned),
  })
  .refine((event) => event.startDate <= event.endDate, {
    path: ['endDate'],
    message: 'must not be before startDate',
  })
  .refine((event) => event.endDate <= event.expiryDate, {
    path: ['expiryDate'],
    message: 'must not be before endDate',
  })

const team = z.object({
  name: name(),
  brand: z.object(brandFields).optional(),
  apiKeys: list(z.object({ name: name(), key: name() })),
  links: list(z.object({ label: name(100), baseUrl: text(4096) })),
  contracts: list(phygitalContract),
  items: list(z.object(itemFields)),
  chipGroups: list(z.object({ name: name(), chips: list(chip) })),
  guestbookContracts: list(guestbookContract),
  badgeEvents: list(badgeEvent),
})

/** Every list may be absent. */
export const seedFile = z.object({
  version: z.literal(1, 'must be 1'),
  keySets: list(z.strictObject(keySetFields)),
  names: z.record(z.string(), address).default({}),
  teams: list(team),
})

export type Seed = z.output<typeof seedFile>
export type SeedTeam = Seed['teams'][number]
export type SeedChip = SeedTeam['chipGroups'][number]['chips'][number]
