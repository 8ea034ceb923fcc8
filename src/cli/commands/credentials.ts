import { scopes } from '../../values/scopes.ts'
import { defineCommand, type Verb } from '../command/define.ts'
import { argument, chosen, moment, repeated, team, text, yes } from '../command/options.ts'
import type { CliContext } from '../context.ts'
import { UsageError } from '../errors.ts'
import { readId } from './named.ts'

interface Credential {
  readonly expiresAt: string | null
  readonly revokedAt: string | null
}

const credentialState = ({ expiresAt, revokedAt }: Credential, now: Date): string => {
  if (revokedAt !== null) return 'revoked'
  return expiresAt !== null && Date.parse(expiresAt) <= now.getTime() ? 'expired' : 'good'
}

const expires = moment('--expires <when>', 'When it expires (default: never)', 'ahead')

const revokeCommand = ({
  noun,
  list,
  ...spec
}: {
  readonly noun: string
  readonly list: string
  readonly summary: string
  readonly examples: readonly string[]
  readonly hint: string
  readonly revoke: (ctx: CliContext, id: number) => Promise<unknown>
}): Verb =>
  defineCommand({
    name: 'revoke',
    summary: spec.summary,
    examples: spec.examples,
    args: { id: argument('id', `Its id (${list})`) },
    options: { yes },
    run: async (ctx, { args, options }) => {
      ctx.needAdmin()
      const id = readId(args.id, { noun, list })
      await ctx.prompts.confirm(options.yes, `Revoke ${noun} ${id}? This cannot be undone.`)
      await ctx.io.one(await spec.revoke(ctx, id), () => ({ Revoked: id }))
      ctx.io.hint(spec.hint)
    },
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
    await ctx.io.one(key, (made) => ({
      Key: made.key,
      Id: made.id,
      Name: made.name,
      Team: made.team,
      Scopes: made.scopes,
      Expires: made.expiresAt,
    }))
    ctx.io.note('Save it now: it is not shown again. To save it on this machine: tapchip login')
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
        SCOPES: (key) => key.scopes,
        STATE: (key) => credentialState(key, ctx.now()),
        EXPIRES: (key) => key.expiresAt,
        CREATED: (key) => key.createdAt,
        TEAM: (key) => key.team,
      },
      'No API keys. Create one: tapchip api-keys create --name NAME',
    )
  },
})

const revokeApiKey = revokeCommand({
  noun: 'API key',
  list: 'api-keys list',
  summary: 'Revoke an API key, which stops working at once',
  examples: ['api-keys revoke 3', 'api-keys revoke 3 --yes'],
  hint: 'Create a new one: tapchip api-keys create --name NAME',
  revoke: (ctx, id) => ctx.call('DELETE /admin/api-keys/:id', { params: { id } }),
})

const createAdminToken = defineCommand({
  name: 'create',
  summary: 'Create an admin token, which is shown only once',
  examples: [
    'admin-tokens create --name alice --scopes read,edit',
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
      body: { name, scopes: requestedScopes, expiresAt: options.expires?.(ctx.now()) },
    })
    await ctx.io.one(token, (made) => ({
      Token: made.token,
      Id: made.id,
      Name: made.name,
      Scopes: made.scopes,
      Expires: made.expiresAt,
    }))
    ctx.io.note('Save it now: it is not shown again. To save it on this machine: tapchip login --admin')
  },
})

const listAdminTokens = defineCommand({
  name: 'list',
  summary: 'List the admin tokens without their secrets',
  examples: ['admin-tokens list', 'admin-tokens list --json'],
  run: async (ctx) => {
    await ctx.io.list(
      await ctx.call('GET /admin/admin-tokens'),
      {
        ID: (token) => token.id,
        NAME: (token) => token.name,
        SCOPES: (token) => token.scopes,
        STATE: (token) => credentialState(token, ctx.now()),
        EXPIRES: (token) => token.expiresAt,
        CREATED: (token) => token.createdAt,
      },
      'No other admin tokens. The root token is in admin.token in the data directory.',
    )
  },
})

const revokeAdminToken = revokeCommand({
  noun: 'admin token',
  list: 'admin-tokens list',
  summary: 'Revoke an admin token, which stops working at once',
  examples: ['admin-tokens revoke 2'],
  hint: 'Create a new one: tapchip admin-tokens create --name NAME --scopes SCOPES',
  revoke: (ctx, id) => ctx.call('DELETE /admin/admin-tokens/:id', { params: { id } }),
})

export const apiKeyVerbs = [listApiKeys, createApiKey, revokeApiKey]
export const adminTokenVerbs = [listAdminTokens, createAdminToken, revokeAdminToken]
