import { ApiError } from '../client/errors.ts'
import type { CliContext } from '../context.ts'
import { type ExitCode, exitCodes } from '../errors.ts'

type State = 'good' | 'refused' | 'none'

const stateOf = async (held: boolean, attempt: () => Promise<unknown>): Promise<State> => {
  if (!held) return 'none'
  try {
    await attempt()
    return 'good'
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    // A scope that does not reach this far is a good key all the same.
    return error.statusCode === 403 ? 'good' : 'refused'
  }
}

/** Which keys there are, where they come from, and whether the daemon takes them. */
export const printStatus = async (ctx: CliContext): Promise<ExitCode> => {
  const config = ctx.config()
  const status = {
    url: config.url,
    context: config.contextName ?? null,
    apiKey: await stateOf(config.apiKey !== undefined, () => ctx.call('GET /chip-groups')),
    apiKeyOrigin: config.apiKeyOrigin ?? null,
    adminToken: await stateOf(config.adminToken() !== undefined, () => ctx.call('GET /admin/status')),
    adminTokenOrigin: config.adminTokenOrigin() ?? null,
  }
  const told = (state: State, origin: string | null) => (origin === null ? state : `${state}, from ${origin}`)
  await ctx.io.one(status, (it) => ({
    Daemon: it.url,
    Context: it.context,
    'API key': told(it.apiKey, it.apiKeyOrigin),
    'Admin token': told(it.adminToken, it.adminTokenOrigin),
  }))
  const states = [status.apiKey, status.adminToken]
  const good = states.includes('good') && !states.includes('refused')
  if (!good) ctx.io.note('Keep a key: tapchip login. An admin token: tapchip login --admin')
  return good ? exitCodes.done : exitCodes.authentication
}
