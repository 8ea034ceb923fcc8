import * as z from 'zod'
import { chipStates } from '../../../values/chip-states.ts'
import { adminEndpoint } from '../endpoint.ts'
import { address, flag, integer, mustBe, team, text, timestamp, tokenId, tokenRef, uid } from '../fields.ts'
import { shortList } from '../list.ts'
import { chipFilter } from './chips.ts'

const listedChip = () =>
  z.object({
    uid: z.string(),
    uidHex: z.string(),
    team: z.string(),
    chipGroup: z.string(),
    family: z.enum(['ntag424', 'halo']),
    keySet: z.number().nullable(),
    label: z.string().nullable(),
    item: z.string().nullable(),
    variant: z.string().nullable(),
    redirectUrl: z.string().nullable(),
    linkedToken: tokenRef().nullable(),
    isSimulated: z.boolean(),
    lastTapAt: timestamp.nullable(),
    openedAt: timestamp.nullable(),
    disabledAt: timestamp.nullable(),
    disabledReason: z.string().nullable(),
    createdAt: timestamp,
  })

/** Chips by what they have in common. */
export const chipLists = {
  'GET /admin/chips': adminEndpoint({
    id: 'searchChips',
    summary:
      'List chips by UID, by the beginning of their label, by item, token, or chip group, a page at a time',
    scope: 'read',
    query: () =>
      z.object({
        ...team,
        uid: z
          .union([uid, shortList(uid, { max: 100 })], mustBe('UIDs'))
          .optional()
          .describe('may be repeated'),
        label: text(200).optional().describe('the beginning of labels'),
        item: text(64).optional(),
        contractAddress: address.optional(),
        chainId: integer(1).optional(),
        tokenId: tokenId.optional(),
        chipGroup: text(200).optional(),
        state: z.enum(chipStates, `must be one of ${chipStates.join(', ')}`).optional(),
        after: text(250).optional().describe('`next` of the page before'),
        limit: integer(1, 200).optional(),
      }),
    response: () =>
      z.object({
        chips: z.array(listedChip()),
        next: z
          .string()
          .nullable()
          .describe('for the next page; null: there is none. A page may be shorter than its limit, or empty'),
      }),
  }),
  'GET /admin/chips/stats': adminEndpoint({
    id: 'getChipStats',
    summary:
      'Count chips by state and chip group. With conditions or wait=true, answers once they are counted, else with the last count',
    scope: 'read',
    query: () =>
      z.object({
        ...team,
        ...chipFilter(),
        wait: flag.optional(),
        limit: integer(1, 1000).optional().describe('of groups: those with the most chips'),
      }),
    response: () =>
      z.object({
        chips: z.number(),
        states: z.array(z.object({ state: z.enum(chipStates), chips: z.number() })),
        groups: z.array(
          z.object({
            id: z.number(),
            chipGroup: z.string(),
            team: z.string(),
            chips: z.number(),
            states: z.record(z.string(), z.number()).nullable().describe('by state; null: not counted yet'),
          }),
        ),
        more: z.number().describe('groups beyond the limit'),
        countedAt: timestamp
          .nullable()
          .describe('of the oldest of these counts; null: chips of some groups are not counted yet'),
        isCounting: z.boolean().describe('ask again soon for newer counts'),
      }),
  }),
} as const
