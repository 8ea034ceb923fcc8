import { addressOf } from './client/address.ts'
import { isUnknownPath } from './client/errors.ts'
import type { Client, EndpointKey } from './client/types.ts'
import type { Config } from './config.ts'
import { readConfigFile } from './config-file.ts'
import { CliError, DryRunEnded, UsageError } from './errors.ts'
import type { Io } from './io/io.ts'
import { clean } from './io/text.ts'
import type { Prompts } from './prompts.ts'
import type { System } from './system.ts'

interface Writing {
  readonly system: System
  readonly io: Io
  readonly prompts: Prompts
  readonly flags: { quiet: boolean; dryRun: boolean; confirm?: string | undefined; team?: string | undefined }
  config(): Config
  call(key: 'GET /team'): Promise<{ name: string }>
}

/** For an existing name, the way to use it; for another one, the name that was probably meant. */
const suggestContext = (known: readonly string[], typedName: string): string => {
  if (known.includes(typedName)) return `If you mean "${typedName}": --context ${typedName}`
  const { length } = typedName
  const near = known.find((name) => Math.abs(name.length - length) <= 1 && isWithinOneEdit(name, typedName))
  return near === undefined
    ? `There is no context "${typedName}". List them: tapchip context list`
    : `There is no context "${typedName}". Did you mean ${near}?`
}

/** True if one letter added, removed or changed, or one swap, turns one name into the other. */
const isWithinOneEdit = (a: string, b: string): boolean => {
  let start = 0
  while (start < a.length && a[start] === b[start]) start += 1
  const [restOfA, restOfB] = [a.slice(start), b.slice(start)]
  return (
    restOfA.slice(1) === restOfB.slice(1) ||
    restOfA.slice(1) === restOfB ||
    restOfA === restOfB.slice(1) ||
    (restOfA[0] === restOfB[1] && restOfA[1] === restOfB[0] && restOfA.slice(2) === restOfB.slice(2))
  )
}

/** @throws UsageError if a protected context is in use and its name was not given */
export const confirmContext = async ({ system, config, flags, prompts }: Writing): Promise<void> => {
  const { contextName, isProtected, origin, url } = config()
  const { confirm } = flags
  if (confirm !== undefined && confirm !== contextName)
    throw new UsageError(
      `--confirm names the context "${confirm}", but this command goes to ${url} (${origin}). Nothing was sent.`,
      suggestContext(Object.keys(readConfigFile(system).contexts), confirm),
    )
  if (!isProtected || confirm === contextName || flags.dryRun) return
  const why = `The context "${contextName}" is protected.`
  if (!prompts.possible)
    throw new UsageError(
      `${why} Nothing was sent.`,
      `To change something there, confirm its name: --confirm ${contextName}`,
    )
  await prompts.confirmByName(false, why, {
    what: 'its name',
    is: (typed) => typed === contextName,
  })
}

/** The first change that a command makes, if it is a single request. */
export interface Target {
  readonly key?: string
  readonly code?: string | undefined
}

/** Prints which daemon, context and team a command is about to change. */
export const printTarget = async (ctx: Writing, first: Target): Promise<void> => {
  if (ctx.flags.quiet) return
  const { url, origin } = ctx.config()
  const team = await teamName(ctx, first)
  const from = origin === 'default' ? 'the default address' : origin
  ctx.io.note(clean(`At ${url} (${from})${team === undefined ? '' : `, team ${team}`}`))
}

/**
 * The team of the API key, unless the command names one. An admin token alone needs none if there is only one. A code
 * belongs to the team of its chip, whatever our key is; and changes to the daemon itself belong to no team.
 */
const teamName = async (ctx: Writing, { key, code }: Target): Promise<string | undefined> => {
  if (ctx.flags.team !== undefined) return ctx.flags.team
  if (key !== undefined && / \/admin\/(teams|key-sets|admin-tokens|backup)(\/|$)/.test(key)) return undefined
  if (code !== undefined || ctx.config().apiKey === undefined) return undefined
  try {
    return (await ctx.call('GET /team')).name
  } catch {
    // If the key or the daemon is at fault, the request itself reports it.
    return undefined
  }
}

interface Sendable {
  readonly params?: Readonly<Record<string, unknown>>
  readonly query?: Readonly<Record<string, unknown>>
  readonly body?: unknown
}

const isSendable = (value: unknown): value is Sendable => typeof value === 'object' && value !== null

/** The URL of a path at our daemon. A path after a socket path is separated by a colon, as proxies write it. */
export const shownUrl = (config: Config, path: string): string => {
  const to = path.startsWith('/admin') ? config.adminUrl() : config.url
  return `${to.replace(/\/+$/, '')}${to.startsWith('unix:') ? ':' : ''}${path}`
}

/**
 * Has the daemon check a request without changing anything, and says what that means.
 * @throws what the request would throw; CliError if the daemon cannot
 */
export const tryOut = async (
  client: Client,
  io: Io,
  key: EndpointKey,
  request: object | undefined = {},
): Promise<void> => {
  const checked = await client.tryOut(key, request).catch((error: unknown) => {
    if (!isUnknownPath(error)) throw error
    throw new CliError('This daemon cannot do a dry run of the request. Nothing was changed.', {
      advice:
        'It is of an earlier version, or its administration is at another address (TAPCHIP_ADMIN_URL). Check: tapchip doctor',
      cause: error,
    })
  })
  io.note(
    checked === 'all'
      ? 'The daemon would do this.'
      : 'The daemon accepts the request; whether it succeeds shows only when it is done.',
  )
}

/** Prints the request, which the daemon would accept, without its secrets, and ends the run. */
export const showRequest = async (io: Io, config: Config, key: string, request: unknown): Promise<never> => {
  const sendable = isSendable(request) ? request : {}
  const { method, path } = addressOf(key, sendable, config.wireBadge)
  const url = shownUrl(config, path)
  const body = sendable.body === undefined ? undefined : withoutSecrets(sendable.body)
  const line = { dryRun: true, method, url, ...(body === undefined ? {} : { body }) }
  await io.line(line, () => clean(`${method} ${url}${body === undefined ? '' : ` ${JSON.stringify(body)}`}`))
  throw new DryRunEnded()
}

const withoutSecrets = (body: unknown): unknown =>
  JSON.parse(
    JSON.stringify(body, (name, value) =>
      /keys?$|passphrase|token$/i.test(name) && (typeof value === 'string' || Array.isArray(value))
        ? '…'
        : value,
    ),
  )
