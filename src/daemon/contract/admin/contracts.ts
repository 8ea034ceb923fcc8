import * as z from 'zod'
import { endpoint } from '../endpoint.ts'
import { address, integer, name, team, timestamp } from '../fields.ts'

export const twoTapPolicy = z.object({
  delaySeconds: integer(0, 31_536_000),
  windowSeconds: integer(1, 31_536_000),
})

const contractOnWire = z.object({
  id: z.number(),
  team: z.string(),
  kind: z.enum(['phygital', 'guestbook']),
  symbol: z.string(),
  name: z.string(),
  chainId: z.number(),
  address: z.string().nullable(),
  status: z.enum(['pending', 'confirmed']),
  twoTap: z.object({ delaySeconds: z.number(), windowSeconds: z.number() }).nullable(),
  createdAt: timestamp,
})

export const contracts = {
  'GET /admin/contracts': endpoint({
    part: 'admin',
    summary: "List a team's token contracts",
    auth: 'admin',
    scope: 'read',
    query: z.object(team),
    response: z.array(contractOnWire),
  }),
  'POST /admin/contracts': endpoint({
    part: 'admin',
    summary: 'Register a token contract that is deployed already',
    auth: 'admin',
    scope: 'edit',
    body: z.object({
      ...team,
      symbol: name(32),
      name: name(),
      chainId: integer(1),
      address,
      twoTap: twoTapPolicy.nullable().optional(),
    }),
    response: contractOnWire,
  }),
} as const
