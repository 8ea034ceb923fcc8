import * as z from 'zod'
import { adminEndpoint } from '../endpoint.ts'
import { address, flag, integer, mustBe, name, publicUrl, success, team, text, timestamp } from '../fields.ts'
import { shortList } from '../list.ts'

export const twoTapPolicy = z.object({
  delaySeconds: integer(0, 31_536_000),
  windowSeconds: integer(1, 31_536_000),
})

/** Of 100, with at most two decimals; the output is in hundredths. */
const percent = z
  .union([z.number(), z.string()], mustBe('a number'))
  .meta({ type: 'number', minimum: 0, maximum: 100 })
  .transform((value, ctx) => {
    if (/^(100(\.00?)?|\d{1,2}(\.\d{1,2})?)$/.test(String(value))) return Math.round(Number(value) * 100)
    ctx.addIssue({
      code: 'custom',
      message: 'must be a number from 0 to 100 with at most two decimals, such as 2.5',
    })
    return z.NEVER
  })

/** What marketplaces show of a collection. Null: nothing. */
const collectionFields = () => ({
  description: text(2000).nullable().optional(),
  image: publicUrl.nullable().optional(),
  banner: publicUrl.nullable().optional(),
  externalLink: publicUrl.nullable().optional(),
  /** 0: no royalty. */
  royaltyPercent: percent.optional(),
  /** An address or a name. */
  royaltyTo: text(255).optional(),
})

const contractFields = () => ({
  id: z.number(),
  team: z.string(),
  kind: z.enum(['phygital', 'guestbook']),
  symbol: z.string(),
  name: z.string(),
  chainId: z.number(),
  address: z.string().nullable(),
  status: z.enum(['pending', 'confirmed']),
  twoTap: z.object({ delaySeconds: z.number(), windowSeconds: z.number() }).nullable(),
  transactionId: z.number().nullable(),
  serviceUrl: z.string().nullable(),
  description: z.string().nullable(),
  image: z.string().nullable(),
  banner: z.string().nullable(),
  externalLink: z.string().nullable(),
  royalty: z.object({ percent: z.number(), to: z.string() }).nullable(),
  /** What the contract can do besides: set a royalty, mint for many in one transaction. Null: unknown. */
  features: z.array(z.enum(['royalty', 'group-mints'])).nullable(),
  /** Why the contract is not deployed, or differs from the one deployed here. Null: no known problem. */
  problem: z.string().nullable(),
  /** The contract's own function for transfers. Null: none, or tokens move by signed claims. */
  transfer: z.string().nullable(),
  mint: z.string().nullable(),
  createdAt: timestamp,
})
const contractOnWire = () => z.object(contractFields())

const warnings = () => z.array(z.string())

const callState = () => z.enum(['works', 'refused', 'unknown']).nullable()

/** State of the contract on its chain. Null: unknown, or the contract does not say. */
const inspection = () => ({
  /** `ours`: this version's code; `none`: no code at the address. */
  code: z.enum(['ours', 'other', 'none']).nullable(),
  codeHash: z.string().nullable(),
  owner: z.string().nullable(),
  signVerifier: z.string().nullable(),
  /** True if the contract accepts this daemon's signatures. */
  trustsSignVerifier: z.boolean().nullable(),
  /** Result of a dry call from the relayer, with a token that was found. Null: no such function is given. */
  transfers: callState(),
  mints: callState(),
  warnings: warnings(),
})

export const contracts = {
  'GET /admin/contracts': adminEndpoint({
    id: 'listContracts',
    summary: "List a team's token contracts",
    scope: 'read',
    query: () => z.object(team),
    response: () => z.array(contractOnWire()),
  }),
  'POST /admin/contracts': adminEndpoint({
    id: 'registerContract',
    summary: 'Register an existing token contract',
    scope: 'transfer',
    body: () =>
      z.object({
        ...team,
        symbol: name(32),
        name: name(),
        chainId: integer(1),
        address,
        twoTap: twoTapPolicy.nullable().optional(),
        /** For a contract that takes no signed claims: the items of its ABI, or human-readable lines. */
        abi: shortList(
          z.union([
            z.string().max(1000),
            z.object({
              type: z.string(),
              name: z.string().optional(),
              stateMutability: z.string().optional(),
              inputs: shortList(z.object({ type: z.string() }), { max: 2000 }).optional(),
            }),
          ]),
          { max: 2000 },
        ).optional(),
        /** A function of the ABI with the roles of its arguments: `safeTransferFrom(owner,recipient,tokenId)`. */
        transfer: text(300).optional(),
        /** Likewise: `mintTo(recipient,tokenId)`. */
        mint: text(300).optional(),
      }),
    response: () => z.object({ ...contractFields(), ...inspection() }),
  }),
  'GET /admin/contracts/:id': adminEndpoint({
    id: 'getContract',
    summary: 'Show a contract and its state on the chain',
    scope: 'read',
    params: () => z.object({ id: integer(1) }),
    response: () => z.object({ ...contractFields(), ...inspection() }),
  }),
  'POST /admin/contracts/deploy': adminEndpoint({
    id: 'deployContract',
    summary: 'Deploy a token contract',
    scope: 'transfer',
    isRepeatable: true,
    body: () =>
      z.object({
        ...team,
        symbol: name(32),
        name: name(),
        chainId: integer(1),
        twoTap: twoTapPolicy.nullable().optional(),
        ...collectionFields(),
      }),
    response: () => z.object({ ...contractFields(), warnings: warnings() }),
  }),
  'PATCH /admin/contracts/:id': adminEndpoint({
    id: 'editContract',
    summary: 'Change the two-tap policy of a contract, its royalty, and what marketplaces show of it',
    scope: 'transfer',
    params: () => z.object({ id: integer(1) }),
    body: () => z.object({ twoTap: twoTapPolicy.nullable().optional(), ...collectionFields() }),
    response: () =>
      z.object({
        ...contractFields(),
        /** The transaction that sets the royalty; null: none is needed. */
        sentTransactionId: z.number().nullable(),
        warnings: warnings(),
      }),
  }),
  'DELETE /admin/contracts/:id': adminEndpoint({
    id: 'deleteContract',
    summary: 'Remove an unused contract that was registered by mistake or never deployed',
    scope: 'edit',
    params: () => z.object({ id: integer(1) }),
    response: success,
  }),
  'POST /admin/contracts/:id/service-url': adminEndpoint({
    id: 'setContractServiceUrl',
    summary: 'Set the metadata base URL of a contract to that of this daemon',
    scope: 'transfer',
    params: () => z.object({ id: integer(1) }),
    body: () =>
      z.object({
        /** Send the URL even if the contract already has it. */
        force: flag.optional(),
      }),
    response: () =>
      z.object({
        ...contractFields(),
        /** Null: the contract already has this URL. */
        sentTransactionId: z.number().nullable(),
        warnings: warnings(),
      }),
  }),
} as const
