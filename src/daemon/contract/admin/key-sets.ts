import * as z from 'zod'
import { bareHex, notAnAesKey } from '../../../values/aes-key.ts'
import { diversificationRule, diversifications } from '../../../values/diversifications.ts'
import { adminEndpoint } from '../endpoint.ts'
import { integer, success, timestamp } from '../fields.ts'

const aesKey = z
  .string()
  .overwrite(bareHex)
  .regex(/^[0-9a-fA-F]{32}$/, notAnAesKey)
const parameterName = z
  .string()
  .regex(
    /^[A-Za-z][A-Za-z0-9_.-]{0,31}$/,
    'must be a query parameter name: a letter, then letters, digits, _ . -',
  )
  .refine(
    (name) => !['static', 'pk1', 'pk2', 'rnd', 'rndsig'].includes(name),
    'must not be a name that HaLo chips use',
  )

export const keySetFields = {
  id: integer(0, 0xffffffff),
  metaReadKey: aesKey,
  fileReadKey: aesKey.nullable().optional(),
  appMasterKey: aesKey.nullable().optional(),
  diversification: z.enum(diversifications, diversificationRule),
  systemIdentifier: z
    .string()
    .regex(/^([0-9a-fA-F]{2}){0,22}$/, 'must be hex, at most 22 bytes')
    .nullable()
    .optional(),
  macInputFrom: z.enum(['d', 'e'], 'must be "d", "e" or null').nullable().optional(),
  parameters: z
    .strictObject({ e: parameterName, c: parameterName, d: parameterName })
    .partial()
    .nullable()
    .optional(),
  template: z.string().nullable().optional(),
  tamper: z.string().nullable().optional(),
  /** The mode in which it sets chips up: `lrp` switches them to LRP mode, for good. */
  mode: z.enum(['aes', 'lrp'], 'must be "aes" or "lrp"').nullable().optional(),
}

const keySetOnWire = () =>
  z.object({
    id: z.number(),
    diversification: z.enum(diversifications),
    systemIdentifier: z.string(),
    template: z.string(),
    tamper: z.string().nullable(),
    mode: z.enum(['aes', 'lrp']),
    macInputFrom: z.enum(['d', 'e']).nullable(),
    parameters: z.object({ e: z.string(), c: z.string(), d: z.string() }).nullable(),
    canProvision: z.boolean(),
    /** What its chips show, with placeholders for what differs from tap to tap. */
    url: z.string(),
    chips: z.number(),
    createdAt: timestamp,
  })

export const keySets = {
  'GET /admin/key-sets': adminEndpoint({
    id: 'listKeySets',
    summary: 'List the key sets, without their keys',
    scope: 'read',
    response: () => z.array(keySetOnWire()),
  }),
  'POST /admin/key-sets': adminEndpoint({
    isForAllTeams: true,
    id: 'createKeySet',
    summary: 'Create a key set. Its keys are never shown',
    scope: 'keys',
    body: () => z.strictObject(keySetFields),
    response: () => keySetOnWire().extend({ warnings: z.array(z.string()) }),
  }),
  'DELETE /admin/key-sets/:id': adminEndpoint({
    isForAllTeams: true,
    id: 'deleteKeySet',
    summary: 'Remove a key set that no chip uses',
    scope: 'keys',
    params: () => z.object({ id: integer() }),
    response: success,
  }),
} as const
