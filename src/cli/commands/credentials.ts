import { scopes } from '../../values/scopes.ts'
import { defineCommand } from '../command/define.ts'
import { chosen, moment, repeated, team, text } from '../command/options.ts'
import type { CliContext } from '../context.ts'
import { UsageError } from '../errors.ts'
import {
  adminTokens,
  apiKeys,
  type Credential,
  noteSecret,
  revokeCommand,
  rollCommand,
} from './credential-secrets.ts'

const stateOf = ({ expiresAt, revokedAt }: Credential, now: Date): string => {
  if (revokedAt !== null) return 'revoked'
  return expiresAt !== null && Date.parse(expiresAt) <= now.getTime() ? 'expired' : 'good'
}

const expires = moment('--expires <when>', 'When it expires (default: never)', 'ahead')

const columnsOf = (ctx: CliContext) => ({
  SCOPES: (one: Credential) => one.scopes,
  STATE: (one: Credential) => stateOf(one, ctx.now()),
  EXPIRES: (one: Credential) => one.expiresAt,
  'LAST USED': (one: Credential) => one.lastUsedAt,
  FROM: (one: Credential) => one.lastUsedFrom,
  TEAM: (one: Credential) => one.team,
})

const fieldsOf = ({
  id,
  name,
  team,
  scopes,
  expiresAt,
}: Omit<Credential, `last${string}` | 'revokedAt'>) => ({
  Id: id,
  Name: name,
  Team: team ?? 'all',
  Scopes: scopes,
  Expires: expiresAt,
})

const createApiKey = defineCommand({
  name: 'create',
  summary: 'Create an API key, which is shown only once',
  examples: [
    'api-keys create --name ops',
    'api-keys create --name shop --scopes read --expires 2027-01-01 --json',
  ],
  options: {
    name: text('--name <name>', 'What it is for'),
    scopes: repeated(
      '--scopes <scopes>',
      `Its permissions, separated by commas: ${scopes.join(', ')} (default: all)`,
      scopes,
    ),
    expires,
    team,
  },
  run: async (ctx, { options }) => {
    ctx.needAdmin()
    const name = await ctx.prompts.text(options.name, { flag: '--name', message: 'What is the key for?' })
    const requestedScopes = chosen('--scopes', options.scopes, scopes)
    const key = await ctx.call('POST /admin/api-keys', {
      body: {
        name,
        team: options.team,
        scopes: requestedScopes.length > 0 ? requestedScopes : undefined,
        expiresAt: options.expires?.(ctx.now()),
      },
    })
    await ctx.io.one(key, (made) => ({ Key: made.key, ...fieldsOf(made) }))
    noteSecret(ctx, apiKeys)
  },
})

const listApiKeys = defineCommand({
  name: 'list',
  summary: "List a team's API keys without their secrets",
  examples: ['api-keys list', 'api-keys list --team Acme --json'],
  options: { team },
  run: async (ctx, { options }) => {
    await ctx.io.list(
      await ctx.call('GET /admin/api-keys', { query: { team: options.team } }),
      {
        ID: (key) => key.id,
        NAME: (key) => key.name,
        KEY: (key) => key.hint,
        ...columnsOf(ctx),
      },
      'No API keys. Create one: tapchip api-keys create --name NAME',
    )
  },
})

const createAdminToken = defineCommand({
  name: 'create',
  summary: 'Create an admin token, which is shown only once',
  examples: [
    'admin-tokens create --name alice --scopes read,edit --team Acme',
    'admin-tokens create --name ci --scopes read --expires 2027-01-01',
  ],
  options: {
    name: text('--name <name>', 'Who or what it is for; the audit log shows it'),
    scopes: repeated(
      '--scopes <scopes>',
      `Its permissions, separated by commas: ${scopes.join(', ')}`,
      scopes,
    ),
    expires,
    team: text(
      '--team <name|id>',
      'The only team that it is for (default: that of your credential, or all)',
      'team',
    ),
  },
  run: async (ctx, { options }) => {
    ctx.needAdmin()
    const requestedScopes = chosen('--scopes', options.scopes, scopes)
    const name = await ctx.prompts.text(options.name, {
      flag: '--name',
      message: 'Who or what is the token for?',
    })
    if (requestedScopes.length === 0)
      throw new UsageError('--scopes is missing.', `Its permissions: ${scopes.join(', ')}`)
    const token = await ctx.call('POST /admin/admin-tokens', {
      body: { name, team: options.team, scopes: requestedScopes, expiresAt: options.expires?.(ctx.now()) },
    })
    await ctx.io.one(token, (made) => ({ Token: made.token, ...fieldsOf(made) }))
    noteSecret(ctx, adminTokens)
  },
})

const listAdminTokens = defineCommand({
  name: 'list',
  summary: 'List the admin tokens without their secrets',
  examples: ['admin-tokens list', 'admin-tokens list --team Acme --json'],
  options: { team: text('--team <name|id>', 'Only those of this team', 'team') },
  run: async (ctx, { options }) => {
    await ctx.io.list(
      await adminTokens.list(ctx, options.team),
      { ID: (token) => token.id, NAME: (token) => token.name, ...columnsOf(ctx) },
      'No admin tokens. Create one: tapchip admin-tokens create --name NAME --scopes SCOPES',
    )
  },
})

export const apiKeyVerbs = [listApiKeys, createApiKey, rollCommand(apiKeys), revokeCommand(apiKeys)]
export const adminTokenVerbs = [
  listAdminTokens,
  createAdminToken,
  rollCommand(adminTokens),
  revokeCommand(adminTokens),
]
