import { defineCommand, type Verb } from '../command/define.ts'
import { argument, moment, yes } from '../command/options.ts'
import type { CliContext } from '../context.ts'
import { readId } from './named.ts'

interface Credential {
  readonly expiresAt: string | null
  readonly revokedAt: string | null
}

export const credentialState = ({ expiresAt, revokedAt }: Credential, now: Date): string => {
  if (revokedAt !== null) return 'revoked'
  return expiresAt !== null && Date.parse(expiresAt) <= now.getTime() ? 'expired' : 'good'
}

export const expires = moment('--expires <when>', 'When it expires (default: never)', 'ahead')

export const revokeCommand = ({
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
