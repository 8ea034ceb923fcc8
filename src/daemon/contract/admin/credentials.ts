import * as z from 'zod'
import { showInvisible } from '../../../values/invisible.ts'
import { scopes } from '../../../values/scopes.ts'
import { adminEndpoint } from '../endpoint.ts'
import { integer, moment, name, success, team, timestamp } from '../fields.ts'
import { shortList } from '../list.ts'

const scopeList = <const S extends readonly string[]>(of: S) =>
  shortList(z.enum(of), { notEmpty: 'must name at least one scope', max: 20 })

/** The audit log shows it, so none may look like another: no control characters, and no invisible ones. */
const credentialName = () =>
  name().refine(
    (text) => text === text.trim() && !/\p{Cc}/u.test(text) && showInvisible(text) === text,
    'must not have control or invisible characters, or spaces at its ends',
  )

const apiKeyOnWire = () =>
  z.object({
    id: z.number(),
    team: z.string(),
    name: z.string(),
    /** The first characters only: enough to tell keys apart, never enough to use one. */
    hint: z.string(),
    scopes: z.array(z.string()),
    createdAt: timestamp,
    expiresAt: timestamp.nullable(),
    revokedAt: timestamp.nullable(),
    lastUsedAt: timestamp.nullable(),
    lastUsedFrom: z.string().nullable().describe('address and program'),
  })

const roll = {
  scope: 'keys',
  params: () => z.object({ id: integer(1) }),
  body: () =>
    z.object({
      overlapSeconds: integer(0, 30 * 86_400)
        .optional()
        .describe('how long the old secret lives on; a day by default'),
    }),
  response: () =>
    z.object({
      id: z.number(),
      name: z.string(),
      key: z.string(),
      oldUntil: timestamp.describe('how long the old secret lives'),
    }),
  noStore: true,
} as const

const adminTokenOnWire = () =>
  apiKeyOnWire()
    .omit({ hint: true })
    .extend({ team: z.string().nullable().describe('null: all teams') })

export const apiKeys = {
  'GET /admin/api-keys': adminEndpoint({
    id: 'listApiKeys',
    summary: "List a team's API keys, without the keys themselves",
    scope: 'read',
    query: () => z.object(team),
    response: () => z.array(apiKeyOnWire()),
  }),
  'POST /admin/api-keys': adminEndpoint({
    id: 'createApiKey',
    summary: 'Create an API key; only this answer shows it',
    scope: 'keys',
    body: () =>
      z.object({
        ...team,
        name: credentialName(),
        scopes: scopeList(scopes).optional(),
        expiresAt: moment.nullable().optional(),
      }),
    response: () => apiKeyOnWire().extend({ key: z.string() }),
    noStore: true,
  }),
  'POST /admin/api-keys/:id/roll': adminEndpoint({
    id: 'rollApiKey',
    summary: 'Give an API key a new secret, which only this answer shows; the old one lives on for a while',
    ...roll,
  }),
  'DELETE /admin/api-keys/:id': adminEndpoint({
    id: 'revokeApiKey',
    summary: 'Revoke an API key',
    scope: 'keys',
    params: () => z.object({ id: integer(1) }),
    response: success,
  }),
} as const

export const whoami = {
  'GET /admin/whoami': adminEndpoint({
    id: 'whoAmI',
    summary: 'Show the credential of the request: its name, team, and scopes',
    scope: 'read',
    response: () =>
      z.object({
        kind: z.enum(['api-key', 'admin-token']),
        name: z.string(),
        team: z.string().nullable().describe('null: all teams'),
        scopes: z.array(z.string()),
        expiresAt: timestamp.nullable(),
      }),
  }),
} as const

export const adminTokens = {
  'GET /admin/admin-tokens': adminEndpoint({
    id: 'listAdminTokens',
    summary: 'List the admin tokens, without the tokens themselves',
    scope: 'read',
    query: () => z.object(team),
    response: () => z.array(adminTokenOnWire()),
  }),
  'POST /admin/admin-tokens': adminEndpoint({
    id: 'createAdminToken',
    summary: 'Create an admin token for one team or for all; only this answer shows it',
    scope: 'keys',
    body: () =>
      z.object({
        ...team,
        name: credentialName(),
        scopes: scopeList(scopes),
        expiresAt: moment.nullable().optional(),
      }),
    response: () => adminTokenOnWire().extend({ token: z.string() }),
    noStore: true,
  }),
  'POST /admin/admin-tokens/:id/roll': adminEndpoint({
    id: 'rollAdminToken',
    summary:
      'Give an admin token a new secret, which only this answer shows; the old one lives on for a while',
    ...roll,
  }),
  'DELETE /admin/admin-tokens/:id': adminEndpoint({
    id: 'revokeAdminToken',
    summary: 'Revoke an admin token',
    scope: 'keys',
    params: () => z.object({ id: integer(1) }),
    response: success,
  }),
} as const
