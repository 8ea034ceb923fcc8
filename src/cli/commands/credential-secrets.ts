import { ApiError } from '../client/errors.ts'
import type { AnswerOf } from '../client/types.ts'
import { defineCommand, type Verb } from '../command/define.ts'
import { argument, span, team, yes } from '../command/options.ts'
import type { CliContext } from '../context.ts'
import { CliError } from '../errors.ts'
import { shellQuoted } from '../io/text.ts'
import { findNamed } from './named.ts'

export type Credential = AnswerOf<'GET /admin/admin-tokens'>[number]

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

export const apiKeys: Kind = {
  noun: 'API key',
  command: 'api-keys',
  list: (ctx, team) => ctx.call('GET /admin/api-keys', { query: { team } }),
  roll: (ctx, id, overlapSeconds) =>
    ctx.call('POST /admin/api-keys/:id/roll', { params: { id }, body: { overlapSeconds } }),
  revoke: (ctx, id) => ctx.call('DELETE /admin/api-keys/:id', { params: { id } }),
}

export const adminTokens: Kind = {
  noun: 'admin token',
  command: 'admin-tokens',
  list: (ctx, team) => ctx.call('GET /admin/admin-tokens', { query: { team } }),
  roll: (ctx, id, overlapSeconds) =>
    ctx.call('POST /admin/admin-tokens/:id/roll', { params: { id }, body: { overlapSeconds } }),
  revoke: (ctx, id) => ctx.call('DELETE /admin/admin-tokens/:id', { params: { id } }),
}

export const noteSecret = ({ io }: CliContext, kind: Kind): void =>
  io.note(
    `Save it now: it is not shown again. To save it on this machine: tapchip login${kind === adminTokens ? ' --admin' : ''}`,
  )

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
  const revoked = all.find(({ name, revokedAt }) => name === nameOrId && revokedAt !== null)
  if (revoked && !live.some(({ name }) => name === nameOrId))
    throw new CliError(
      `The ${noun} "${nameOrId}" was revoked at ${revoked.revokedAt}: none of its secrets works.`,
      {
        advice: `Make another: tapchip ${command} create --name NAME`,
      },
    )
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

export const revokeCommand = (kind: Kind): Verb => {
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

export const rollCommand = (kind: Kind): Verb => {
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
        30,
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
      noteSecret(ctx, kind)
    },
  })
}
