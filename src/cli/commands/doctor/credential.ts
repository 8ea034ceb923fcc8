import { createClient } from '../../client/client.ts'
import { ApiError } from '../../client/errors.ts'
import type { AnswerOf } from '../../client/types.ts'
import type { CliContext } from '../../context.ts'
import { type Finding, fail, ok, warn } from './finding.ts'

type Kind = 'apiKey' | 'adminToken'
export type Identity = AnswerOf<'GET /admin/whoami'>

/** @returns undefined if the daemon does not tell: it is of an earlier version, or its administration is out of reach */
export const identify = async (ctx: CliContext, kind: Kind): Promise<Identity | undefined> => {
  const config = ctx.config()
  const client = createClient({
    ...config,
    apiKey: kind === 'apiKey' ? config.apiKey : undefined,
    adminToken: () => (kind === 'adminToken' ? config.adminToken() : undefined),
  })
  try {
    const answer = await client.call('GET /admin/whoami')
    // Another program on the port may answer everything.
    return Array.isArray(answer?.scopes) ? answer : undefined
  } catch {
    return undefined
  } finally {
    client.close()
  }
}

export const describeIdentity = ({ name, team, scopes, expiresAt }: Identity): string =>
  `"${name}" of ${team === null ? 'all teams' : `the team ${team}`}, with ${scopes.join(', ')}, valid until ${expiresAt ?? 'it is revoked'}`

const warnedDays = 14

/** Of a credential that the daemon accepts. */
export const checkIdentity = async (ctx: CliContext, kind: Kind): Promise<Finding> => {
  const check = kind === 'apiKey' ? 'API key' : 'admin token'
  const identity = await identify(ctx, kind)
  if (!identity) return ok(check, 'accepted')
  const { name, expiresAt } = identity
  const daysLeft = expiresAt === null ? Infinity : (Date.parse(expiresAt) - ctx.now().getTime()) / 86_400_000
  const detail = describeIdentity(identity)
  if (daysLeft > warnedDays) return ok(check, detail)
  const [noun, flag] = kind === 'apiKey' ? ['api-keys', ''] : ['admin-tokens', ' --admin']
  return warn(
    check,
    `${detail}: it ends in less than ${Math.max(1, Math.ceil(daysLeft))} days`,
    `have another one made in place of "${name}" (tapchip ${noun} create --name NAME), then tapchip login${flag}`,
  )
}

export const checkApiKey = async (ctx: CliContext): Promise<Finding> => {
  if (!ctx.config().apiKey)
    return warn('API key', 'none', 'tapchip api-keys create --name NAME, then tapchip login')
  try {
    await ctx.call('GET /chip-groups')
    return await checkIdentity(ctx, 'apiKey')
  } catch (error) {
    if (error instanceof ApiError && error.statusCode === 403)
      return ok('API key', 'accepted, but it may not read')
    return fail('API key', error instanceof Error ? error.message : String(error), 'tapchip login')
  }
}
