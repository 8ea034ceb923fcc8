import { scopes } from '../../values/scopes.ts'
import { ApiError } from '../client/errors.ts'
import type { AnswerOf } from '../client/types.ts'
import { defineCommand, type Verb } from '../command/define.ts'
import { argument, chosen, moment, repeated, span, team, text, yes } from '../command/options.ts'
import type { CliContext } from '../context.ts'
import { UsageError } from '../errors.ts'
import { shellQuoted } from '../io/text.ts'
import { findNamed } from './named.ts'

type Credential = AnswerOf<'GET /admin/admin-tokens'>[number]

const stateOf = ({ expiresAt, revokedAt }: Credential, now: Date): string => {
  if (revokedAt !== null) return 'revoked'
  return expiresAt !== null && Date.parse(expiresAt) <= now.getTime() ? 'expired' : 'good'
}

const expires = moment('--expires <when>', 'When it expires (default: never)', 'ahead')

interface Kind {
  readonly noun: string
  readonly command: string
  list(ctx: CliContext, team: string | undefined): Promise<readonly Credential[]>
  roll(
    ctx: CliContext,
    id: number,
    overlapSeconds: number | undefined,
  ): Promise<AnswerOf<'POST /admin/api-keys/:id/roll'>>
  revoke(ctx: CliContext, id: number): Promise<unknown>
}

const apiKeys: Kind = {
  noun: 'API key',
  command: 'api-keys',
  list: (ctx, team) => ctx.call('GET /admin/api-keys', { query: { team } }),
  roll: (ctx, id, overlapSeconds) =>
    ctx.call('POST /admin/api-keys/:id/roll', { params: { id }, body: { overlapSeconds } }),
  revoke: (ctx, id) => ctx.call('DELETE /admin/api-keys/:id', { params: { id } }),
}

const adminTokens: Kind = {
  noun: 'admin token',
  command: 'admin-tokens',
  list: (ctx, team) => ctx.call('GET /admin/admin-tokens', { query: { team } }),
  roll: (ctx, id, overlapSeconds) =>
    ctx.call('POST /admin/admin-tokens/:id/roll', { params: { id }, body: { overlapSeconds } }),
  revoke: (ctx, id) => ctx.call('DELETE /admin/admin-tokens/:id', { params: { id } }),
}

const idIn = (nameOrId: string): number | undefined =>
  /^\d{1,15}$/.test(nameOrId) ? Number(nameOrId) : undefined

/**
 * An id works without --team, and comes first, since nobody can choose one; a name is that of a credential that was not
 * revoked.
 */
const find = async (
  ctx: CliContext,
  { noun, command, ...kind }: Kind,
  nameOrId: string,
  team: string | undefined,
): Promise<Pick<Credential, 'id' | 'name'>> => {
  const id = idIn(nameOrId)
  if (id !== undefined) return { id, name: nameOrId }
  const all = await kind.list(ctx, team)
  const live = all.filter(({ revokedAt }) => revokedAt === null)
  return findNamed(live, nameOrId, { noun, list: `${command} list`, by: [({ name }) => name] })
}

/** By which the audit log finds it; undefined if its team is not known here. */
const nameOf = async (ctx: CliContext, kind: Kind, id: number, team: string | undefined) => {
  const all = await kind.list(ctx, team).catch((error: unknown) => {
    if (error instanceof ApiError && error.code === 'team_required') return []
    throw error
  })
  return all.find((one) => one.id === id)?.name
}

const named = (command: string) => ({
  name: argument('name|id', `Its name or id (${command} list)`),
})

const revokeCommand = (kind: Kind): Verb => {
  const { noun, command } = kind
  return defineCommand({
    name: 'revoke',
    summary: `Revoke an ${noun}, which stops working at once, with its old secret if it was rolled`,
    examples: [`${command} revoke laptop`, `${command} revoke 3 --yes`],
    args: named(command),
    options: { team, yes },
    run: async (ctx, { args, options }) => {
      ctx.needAdmin()
      const { id, name } = await find(ctx, kind, args.name, options.team)
      await ctx.prompts.confirm(options.yes, `Revoke ${noun} ${name}? This cannot be undone.`)
      const known = idIn(args.name) === undefined ? name : await nameOf(ctx, kind, id, options.team)
      await ctx.io.one(await kind.revoke(ctx, id), () => ({ Revoked: known ?? name }))
      if (known !== undefined) ctx.io.hint(`See what it did: tapchip audit list --by ${shellQuoted(known)}`)
    },
  })
}

const rollCommand = (kind: Kind): Verb => {
  const { noun, command } = kind
  return defineCommand({
    name: 'roll',
    summary: `Give an ${noun} a new secret, which is shown only once; the old one works on for a while`,
    description:
      `Give an ${noun} a new secret, which is shown only once. The old one works until the overlap is over. While it does, ` +
      `${noun}s are not rolled again, except with --overlap 0, which ends every older secret at once.`,
    examples: [`${command} roll ci`, `${command} roll ci --overlap 0`],
    args: named(command),
    options: {
      overlap: span(
        '--overlap <span>',
        'How long the old secret works on, such as 30m, 24h or 7d (default: 24h)',
      ),
      team,
      yes,
    },
    run: async (ctx, { args, options }) => {
      ctx.needAdmin()
      const { overlap } = options
      const { id, name } = await find(ctx, kind, args.name, options.team)
      await ctx.prompts.confirm(ctx.prompts.named(options.yes), `Give ${noun} ${name} a new secret?`)
      const rolled = await kind.roll(ctx, id, overlap === undefined ? undefined : overlap / 1000)
      await ctx.io.one(rolled, (made) => ({
        Secret: made.key,
        Id: made.id,
        Name: made.name,
        'Old one until': made.oldUntil,
      }))
      const isAdmin = kind === adminTokens
      ctx.io.note(
        `Save it now: it is not shown again. To save it on this machine: tapchip login${isAdmin ? ' --admin' : ''}`,
      )
    },
  })
}

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
        STATE: (key) => stateOf(key, ctx.now()),
        EXPIRES: (key) => key.expiresAt,
        'LAST USED': (key) => key.lastUsedAt,
        FROM: (key) => key.lastUsedFrom,
        TEAM: (key) => key.team,
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
    await ctx.io.one(token, (made) => ({
      Token: made.token,
      Id: made.id,
      Name: made.name,
      Team: made.team ?? 'all',
      Scopes: made.scopes,
      Expires: made.expiresAt,
    }))
    ctx.io.note('Save it now: it is not shown again. To save it on this machine: tapchip login --admin')
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
      {
        ID: (token) => token.id,
        NAME: (token) => token.name,
        SCOPES: (token) => token.scopes,
        STATE: (token) => stateOf(token, ctx.now()),
        EXPIRES: (token) => token.expiresAt,
        'LAST USED': (token) => token.lastUsedAt,
        FROM: (token) => token.lastUsedFrom,
        TEAM: (token) => token.team,
      },
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
