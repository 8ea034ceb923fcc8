import { createClient } from '../client/client.ts'
import { ApiError, DaemonUnreachable } from '../client/errors.ts'
import type { AnswerOf } from '../client/types.ts'
import { defineCommand } from '../command/define.ts'
import { flag } from '../command/options.ts'
import { contextAt } from '../config.ts'
import {
  type ConfigFile,
  configPath,
  readConfigFile,
  type StoredContext,
  writeConfigFile,
} from '../config-file.ts'
import type { CliContext } from '../context.ts'
import { type ExitCode, exitCodes, MissingCredential, UsageError } from '../errors.ts'
import { describeIdentity, type Identity, identify } from './doctor/credential.ts'

const login = defineCommand({
  name: 'login',
  summary: 'Save an API key, or an admin token, for later commands',
  description:
    'Save an API key (or, with --admin, an admin token) in the context file, which only you can read. It is pasted ' +
    'or read from standard input, and checked before it is saved.',
  examples: [
    'login',
    'login --context prod',
    'login --admin',
    'echo "$KEY" | tapchip login --with-token',
    'login --status',
  ],
  options: {
    admin: flag('--admin', 'It is an admin token'),
    withToken: flag('--with-token', 'Read it from standard input, even on a terminal'),
    noCheck: flag('--offline', 'Do not check it'),
    status: flag('--status', 'Save nothing; show the keys, whether they are valid, and what they may do'),
  },
  run: async (ctx, { options }) => {
    if (options.status) return printStatus(ctx)
    const { url, contextName, origin } = ctx.config()
    const what = options.admin ? 'Admin token' : 'API key'
    const secret =
      options.withToken || ctx.system.stdin.isTTY !== true
        ? await readSecret(ctx)
        : await ctx.prompts.secret({ flag: '--with-token', message: `${what} for ${url}` })
    if (!/^[\x21-\x7e]+$/.test(secret))
      throw new UsageError(`That is not a valid ${what}: it contains spaces or other invalid characters.`)
    const { instance, may } = options.noCheck ? {} : await checkSecret(ctx, secret, options.admin)
    await ctx.beforeChange(`Would save it in ${configPath(ctx.system)}`)
    const file = readConfigFile(ctx.system)
    const name = contextName ?? nameFor(file, url)
    const same = file.contexts[name]?.url === url ? file.contexts[name] : undefined
    const { apiKey, adminToken, instance: known, ...rest } = same ?? { url }
    // Keys of the previous daemon at this address do not work here.
    const isSame = instance === undefined || known === undefined || instance === known
    const adminUrl = ctx.system.env.TAPCHIP_ADMIN_URL
    const entry: StoredContext = {
      ...rest,
      ...(adminUrl !== undefined && adminUrl === ctx.config().adminUrl() ? { adminUrl } : {}),
      ...((instance ?? known) === undefined ? {} : { instance: instance ?? known }),
      ...(isSame && apiKey ? { apiKey } : {}),
      ...(isSame && adminToken ? { adminToken } : {}),
      ...(options.admin ? { adminToken: secret } : { apiKey: secret }),
    }
    writeConfigFile(ctx.system, {
      current: file.current ?? name,
      contexts: { ...file.contexts, [name]: entry },
    })
    await ctx.io.one({ context: name, url, ...may }, () => ({
      Context: name,
      Daemon: url,
      ...(may === undefined
        ? {}
        : {
            Name: may.name,
            Team: may.team ?? 'all teams',
            Scopes: may.scopes.join(', '),
            'Valid until': may.expiresAt ?? 'it is revoked',
          }),
      'Saved in': configPath(ctx.system),
    }))
    if (instance !== undefined && may === undefined)
      ctx.io.note(
        'What it may do is not shown: the administration of the daemon is not reached at this address.',
      )
    const { env } = ctx.system
    const inEnvironment = (['TAPCHIP_API_KEY', 'TAPCHIP_ADMIN_TOKEN'] as const).find((one) => env[one])
    if (inEnvironment !== undefined)
      ctx.io.note(`${inEnvironment} is set, and takes precedence: unset it to use the saved key.`)
    else if (origin === 'TAPCHIP_URL') ctx.io.hint(`Commands at ${url} use it from now on.`)
    else if ((file.current ?? name) !== name) ctx.io.note(`Use it: tapchip context use ${name}`)
    else ctx.io.hint(`Next: tapchip ${options.admin ? 'daemon status' : 'chip-groups list'}`)
    return exitCodes.done
  },
})

export const verb = login

const nameFor = (file: ConfigFile, url: string): string => {
  const same = contextAt(file, url)
  if (same !== undefined) return same
  if (!Object.hasOwn(file.contexts, 'default')) return 'default'
  return new URL(url).host.replace(/[^A-Za-z0-9._-]/g, '-')
}

const readSecret = async (ctx: CliContext): Promise<string> => {
  let text = ''
  for await (const chunk of ctx.system.stdin) {
    text += String(chunk)
    if (text.length > 4096) throw new UsageError('Standard input contains more than a key.')
  }
  if (text.trim() === '')
    throw new UsageError(
      'Standard input contains no key.',
      'Without a terminal, pipe the key in: tapchip login --with-token < FILE',
    )
  return text.trim()
}

interface Checked {
  /** The daemon that the secret is for, if it reports that. */
  readonly instance?: string | undefined
  /** Undefined: the daemon is of an earlier version, or its administration is out of reach. */
  readonly may?: AnswerOf<'GET /admin/whoami'> | undefined
}

const checkSecret = async (ctx: CliContext, secret: string, admin: boolean): Promise<Checked> => {
  let instance: string | undefined
  let may: Checked['may']
  const client = createClient({
    ...ctx.config(),
    // It may be the first key for a new daemon at this address.
    instance: undefined,
    apiKey: admin ? undefined : secret,
    adminToken: () => (admin ? secret : undefined),
  })
  try {
    instance = await client.instance()
    await (admin ? client.call('GET /admin/status') : client.call('GET /chip-groups'))
    const answer = await client.call('GET /admin/whoami').catch(() => undefined)
    // Another program on the port may answer everything.
    if (Array.isArray(answer?.scopes)) may = answer
  } catch (error) {
    if (error instanceof ApiError && error.statusCode === 401) {
      throw new MissingCredential(
        'The daemon does not accept it. Nothing was saved.',
        'Copy the whole key again. Create a new one: tapchip api-keys create --name NAME',
      )
    }
    // A key whose scope does not cover this request is valid all the same.
    if (error instanceof DaemonUnreachable) ctx.io.warn(`${error.message} It was not checked.`)
    else if (!(error instanceof ApiError && error.statusCode === 403)) throw error
  } finally {
    client.close()
  }
  return { instance, may }
}

type State = 'good' | 'refused' | 'none'

const stateOf = async (isSaved: boolean, attempt: () => Promise<unknown>): Promise<State> => {
  if (!isSaved) return 'none'
  try {
    await attempt()
    return 'good'
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    // A key whose scope does not cover this request is valid all the same.
    return error.statusCode === 403 ? 'good' : 'refused'
  }
}

/** Prints the keys, their origin, and whether the daemon accepts them. */
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
  const [key, token] = await Promise.all([
    status.apiKey === 'good' ? identify(ctx, 'apiKey') : undefined,
    status.adminToken === 'good' ? identify(ctx, 'adminToken') : undefined,
  ])
  const withOrigin = (state: State, origin: string | null, may: Identity | undefined) =>
    `${state}${origin === null ? '' : `, from ${origin}`}${may ? `: ${describeIdentity(may)}` : ''}`
  await ctx.io.one(
    { ...status, apiKeyCredential: key ?? null, adminTokenCredential: token ?? null },
    (it) => ({
      Daemon: it.url,
      Context: it.context,
      'API key': withOrigin(it.apiKey, it.apiKeyOrigin, key),
      'Admin token': withOrigin(it.adminToken, it.adminTokenOrigin, token),
    }),
  )
  const states = [status.apiKey, status.adminToken]
  const good = states.includes('good') && !states.includes('refused')
  if (!good) ctx.io.note('Save a key: tapchip login. Save an admin token: tapchip login --admin')
  return good ? exitCodes.done : exitCodes.authentication
}
