import * as z from 'zod'
import { endpoint, keyEndpoint } from './endpoint.ts'
import { address, chipText, integer, success, text, timestamp, tokenId, tokenRef, uidList } from './fields.ts'

const longQuery = text(1000).optional()

const chipOnWire = () =>
  z.object({
    uid: z.string(),
    createdAt: timestamp,
    isConfigured: z.boolean(),
    redirectUrl: z.string().nullable(),
  })

const batchResult = () =>
  z.object({
    row: z.number(),
    uid: z.string(),
    status: z.enum(['changed', 'unchanged', 'failed']),
    previous: z.string().nullable().optional(),
    error: z.string().optional(),
  })

export const foundChip = () =>
  z.object({
    uid: z.string(),
    isValidTap: z.boolean(),
    linkedToken: tokenRef().optional(),
    otp: z.object({ code: z.string(), expiresAt: timestamp }).optional(),
    badgeEvent: z
      .object({ id: z.number(), poapEventId: z.number(), remainingCodesCount: z.number() })
      .optional(),
  })

/** The key set decides the parameter names; these are the defaults and those of the HaLo family. */
export const tapQuery = () =>
  z.looseObject({
    e: longQuery,
    c: longQuery,
    d: longQuery,
    t: longQuery,
    static: longQuery,
    pk1: longQuery,
    pk2: longQuery,
    rnd: longQuery,
    rndsig: longQuery,
    cmd: longQuery,
    res: longQuery,
  })

export const chips = {
  'GET /chips/find': endpoint({
    id: 'findChip',
    part: 'interface',
    summary: 'Verify the parameters of a tap and take it',
    auth: 'none',
    description:
      "Takes the query of a tap's URL unchanged. A tap is valid once; a repeated one answers with `isValidTap` false, and no code.",
    scope: 'read',
    noStore: true,
    takesTap: true,
    isQueryRaw: true,
    query: tapQuery,
    response: foundChip,
  }),
  'GET /chips': keyEndpoint({
    id: 'listChips',
    summary: 'List the chips of a chip group',
    description: 'At least one of `chipGroupId` and `name` is needed.',
    scope: 'read',
    isLong: true,
    emptyIsAbsent: ['chipGroupId', 'name'],
    query: () => z.object({ chipGroupId: integer().optional(), name: text(200).optional() }),
    response: () => z.array(chipOnWire()),
  }),
  'PATCH /chips': keyEndpoint({
    id: 'editChips',
    summary: 'Set or clear the redirect URL of chips',
    scope: 'edit',
    bodyLimit: 24 * 1024 * 1024,
    body: () =>
      z.object({
        tagUIDs: uidList,
        updates: z.object({ redirectUrl: chipText('redirectUrl').nullable() }),
      }),
    response: success,
  }),
  'PATCH /chips/self-service': endpoint({
    id: 'editChipsAsOwner',
    part: 'interface',
    summary: "Edit the chips of a token, authorized by its owner's signature",
    auth: 'none',
    description:
      'The signature is over EIP-712 data: domain name `Update Self Service Tag`, version `1`; primary type `UpdateRequest` with token (contractAddress, tokenId, chainId), updates (redirectUrl), and requestExpiryTime. It works once.',
    scope: 'edit',
    body: () =>
      z.object({
        contractAddress: address,
        chainId: integer(1),
        tokenId,
        ownerSignature: z
          .string()
          .regex(
            /^0x([0-9a-fA-F]{2}){1,8192}$/,
            'must be a signature: 0x and hex digits, at most 8,192 bytes',
          ),
        updates: z.object({ redirectUrl: chipText('redirectUrl') }),
        requestExpiryTime: integer(),
      }),
    response: () => z.object({ success: z.literal(true), updatedTags: z.array(z.string()) }),
  }),
  'POST /chips/batch': endpoint({
    id: 'editChipsByLine',
    part: 'beyond',
    summary:
      'Edit chips row by row, from JSON lines { uid, redirectUrl, expected? }, answering one line per row',
    auth: 'api-key',
    scope: 'edit',
    bodyLimit: 64 * 1024 * 1024,
    query: () => z.object({ dryRun: z.enum(['true', 'false']).optional() }),
    stream: {
      contentTypes: ['application/x-ndjson', 'application/jsonl', 'application/json'],
      description: 'One row per line',
    },
    response: batchResult,
    answerType: 'application/x-ndjson',
  }),
} as const
