import type { Command } from 'commander'
import type { Target } from './before-write.ts'
import { ApiError } from './client/errors.ts'
import type { AnswerOf, CallArguments, Client, EndpointKey } from './client/types.ts'
import { type Config, type GlobalFlags, lazy, resolveConfig } from './config.ts'
import { CliError, DryRunEnded, MissingCredential, UsageError, withTrailingAdvice } from './errors.ts'
import { createIo, type Io, type IoFlags } from './io/io.ts'
import { createPrompts, type Prompts } from './prompts.ts'
import type { System } from './system.ts'

export interface Flags extends GlobalFlags, IoFlags {
  readonly input: boolean
  readonly dryRun: boolean
  /** Confirms the protected context by its name. */
  readonly confirm?: string | undefined
  readonly team?: string | undefined
}

export interface CliContext {
  readonly system: System
  readonly io: Io
  readonly flags: Flags
  readonly prompts: Prompts
  readonly now: () => Date
  config(): Config
  client(): Promise<Client>
  /**
   * From now on, the daemon's audit log names this batch with each change.
   */
  inBatch(id: string): void
  call<K extends EndpointKey>(key: K, ...request: CallArguments<K>): Promise<AnswerOf<K>>
  /** Throws MissingCredential before any request. */
  needApiKey(): void
  needAdmin(): void
  /**
   * Call before the first change at the daemon: prints the target, and asks for the name of a protected context. Each
   * request that changes something calls it; a box of chips calls it before its file.
   */
  beforeWrite(): Promise<void>
  /** Throws unless the context is unprotected or its name is given. */
  confirmContext(): Promise<void>
  /** Call before changing something on this machine: a dry run prints it and ends here. */
  beforeChange(what: string): Promise<void>
  /** Another program on the port may answer in JSON of its own: says so, where an error comes from that. */
  explained(error: unknown): Promise<unknown>
  close(): void
}

export const createContext = (system: System, given: Flags): CliContext => {
  const flags: Flags = {
    ...given,
    get team() {
      return given.team ?? config().team
    },
  }
  const io = lazy(() => createIo(system, flags))
  const prompts = lazy(() => createPrompts(system, flags))
  const config = lazy(() => resolveConfig(given, system))
  let close: () => void = () => undefined
  let made: Client | undefined
  let batch: string | undefined
  const client = lazy(async () => {
    const { createClient } = await import('./client/client.ts')
    made = createClient({
      ...config(),
      beforeChange: ({ key, isRead, code }) => (isRead ? confirmed() : prepare({ key, code })),
      batch: () => batch,
      onWait: (seconds) => io().note(`Waiting ${seconds} s, as the daemon asked.`),
    })
    close = made.close
    return made
  })

  const confirmed = lazy(async () => (await import('./before-write.ts')).confirmContext(context))
  let printed: Promise<void> | undefined
  const prepare = async (first: Target = {}): Promise<void> => {
    await confirmed()
    if (flags.dryRun) return
    printed ??= import('./before-write.ts').then(({ printTarget }) => printTarget(context, first))
    await printed
  }

  const context: CliContext = {
    system,
    flags,
    now: system.now,
    get io() {
      return io()
    },
    get prompts() {
      return prompts()
    },
    config,
    client,
    inBatch: (id) => {
      batch = id
    },
    call: async (key, ...request) => {
      if (key.includes(' /admin/')) context.needAdmin()
      if (flags.dryRun) {
        const [{ changesSomething }, { showRequest, tryOut }] = await Promise.all([
          import('../values/repeating.ts'),
          import('./before-write.ts'),
        ])
        if (changesSomething(key)) {
          await confirmed()
          // A GET that uses something up cannot be tried.
          if (!key.startsWith('GET ')) await tryOut(await context.client(), io(), key, request[0])
          await showRequest(io(), config(), key, request[0])
        }
      }
      return (await context.client()).call(key, ...request)
    },
    needApiKey: () => {
      if (context.config().apiKey) return
      const contextName = context.config().contextName
      throw new MissingCredential(
        `No API key${contextName ? ` in the context "${contextName}"` : ''}.`,
        'Set TAPCHIP_API_KEY, or save one: tapchip login. Create one: tapchip api-keys create --name NAME',
      )
    },
    needAdmin: () => {
      if (context.config().hasCredential()) return
      throw new MissingCredential(
        'No API key, and no admin token.',
        'Save one: tapchip login (or set TAPCHIP_API_KEY). Ask someone who has the scope "keys" in your team for it: tapchip api-keys create',
        context.config().adminUrl(),
      )
    },
    confirmContext: confirmed,
    beforeWrite: () => prepare(),
    beforeChange: async (what) => {
      if (!flags.dryRun) return
      await io().line({ dryRun: true, what }, () => what)
      throw new DryRunEnded()
    },
    explained: async (error) => {
      if (error instanceof ApiError) {
        const { team, projectFile } = config()
        const isFromFile = team !== undefined && given.team === undefined
        return isFromFile && error.message.startsWith('No such team')
          ? withTrailingAdvice(error, `The team "${team}" is named by ${projectFile}.`)
          : error
      }
      if (!(error instanceof TypeError) || made === undefined) return error
      const instance = await made.instance().catch(() => undefined)
      if (instance !== undefined) return error
      return new CliError(`${made.url.origin} responded, but is not a Tapchip daemon.`, {
        advice: 'Check the address: tapchip context show',
        cause: error,
      })
    },
    close: () => close(),
  }
  return context
}

export const globalOptions = [
  {
    flags: '--json',
    description: 'Print JSON: a list as one array, batches and streams as one object per line',
  },
  { flags: '--ndjson', description: 'As --json, with a list as one object per line' },
  { flags: '--csv', description: 'Print CSV, with the fields of --json as columns' },
  {
    flags: '--url <url>',
    description: 'The daemon (default: TAPCHIP_URL, the context, http://127.0.0.1:8484)',
    repeatable: true,
  },
  { flags: '--context <name>', description: 'The context for address and keys' },
  { flags: '--confirm <name>', description: 'Confirm changes to a protected context by its name' },
  { flags: '--timeout <seconds>', description: 'How long to wait for an answer (default: 30)' },
  { flags: '--dry-run', description: 'Have the daemon check it, and change nothing' },
  {
    flags: '--fields <names>',
    description: 'Print only these fields, named as in --json (a,b)',
  },
  { flags: '--quiet', description: 'Print only data and errors' },
  { flags: '--no-color', description: 'No colors' },
  { flags: '--no-input', description: 'Never prompt; missing values are errors' },
]

/**
 * In commands with --to, which takes a URL of its own, --url alone is that one: nobody means two with one flag. In
 * commands with a --url of their own, all of them are. The daemon is then the one of the context.
 */
const withOwnUrl = (command: Command): Record<string, unknown> => {
  const options: Record<string, unknown> = command.optsWithGlobals()
  const urls: unknown = options.url
  const url: unknown = Array.isArray(urls) ? urls.at(-1) : urls
  const has = (flag: string): boolean => command.options.some(({ long }) => long === flag)
  if (has('--url')) command.setOptionValue('url', urls)
  else if (has('--to') && options.to === undefined) command.setOptionValue('to', url)
  else return { ...options, url }
  return { ...options, url: undefined }
}

export const flagsOf = (command: Command): Flags => {
  const options = withOwnUrl(command)
  const word = (value: unknown) => (typeof value === 'string' ? value : undefined)
  const seconds = word(options.timeout) === undefined ? undefined : Number(options.timeout)
  if (seconds !== undefined && !(seconds > 0 && seconds <= 86_400)) {
    throw new UsageError(`--timeout must be a number of seconds, not "${options.timeout}".`)
  }
  if (options.csv === true && (options.json === true || options.ndjson === true))
    throw new UsageError('Choose either --csv or JSON.')
  return {
    url: word(options.url),
    context: word(options.context),
    timeoutSeconds: seconds,
    json: options.json === true || options.ndjson === true,
    ndjson: options.ndjson === true,
    csv: options.csv === true,
    fields: fieldsOf(word(options.fields)),
    quiet: options.quiet === true,
    color: options.color !== false,
    input: options.input !== false,
    dryRun: options.dryRun === true,
    confirm: word(options.confirm),
    team: word(options.team),
  }
}

const fieldsOf = (text: string | undefined): readonly string[] | undefined => {
  if (text === undefined) return undefined
  const names = text.split(',').flatMap((name) => name.trim() || [])
  if (names.length > 0) return names
  throw new UsageError('--fields names no field.', 'Use the names in --json: --fields uid,redirectUrl')
}
