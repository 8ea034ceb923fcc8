import type { Target } from './before-write.ts'
import type { AnswerOf, CallArguments, Client, EndpointKey } from './client/types.ts'
import { type Config, type GlobalFlags, resolveConfig } from './config.ts'
import { CliError, DryRunEnded, MissingCredential } from './errors.ts'
import { createIo, type Io, type IoFlags } from './io/io.ts'
import { lazy } from './lazy.ts'
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

export const createContext = (system: System, flags: Flags): CliContext => {
  const io = lazy(() => createIo(system, flags))
  const prompts = lazy(() => createPrompts(system, flags))
  const config = lazy(() => resolveConfig(flags, system))
  let close: () => void = () => undefined
  let made: Client | undefined
  let batch: string | undefined
  const client = lazy(async () => {
    const { createClient } = await import('./client/client.ts')
    made = createClient({
      ...config(),
      beforeChange: async ({ key, isRead, code }) => {
        if (flags.dryRun) return
        await (isRead ? context.confirmContext() : prepare({ key, code }))
      },
      batch: () => batch,
      onWait: (seconds) => io().note(`Waiting ${seconds} s, as the daemon asked.`),
    })
    close = made.close
    return made
  })

  const confirmed = lazy(async () => (await import('./before-write.ts')).confirmContext(context))
  let told: Promise<void> | undefined
  const prepare = async (first: Target = {}): Promise<void> => {
    await confirmed()
    told ??= import('./before-write.ts').then(({ printTarget }) => printTarget(context, first))
    await told
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
        const [{ changesSomething }, { showRequest }] = await Promise.all([
          import('../values/repeating.ts'),
          import('./before-write.ts'),
        ])
        if (changesSomething(key)) await showRequest(io(), config(), key, request[0])
      }
      return (await context.client()).call(key, ...request)
    },
    needApiKey: () => {
      if (context.config().apiKey) return
      const held = context.config().contextName
      throw new MissingCredential(
        `No API key${held ? ` in the context "${held}"` : ''}.`,
        'Set TAPCHIP_API_KEY, or save one: tapchip login. Create one: tapchip api-keys create --name NAME',
      )
    },
    needAdmin: () => {
      if (context.config().adminToken()) return
      throw new MissingCredential(
        'No admin token.',
        'Set TAPCHIP_ADMIN_TOKEN: the first one is in admin.token in the data directory of the daemon. On its machine ' +
          'it is found automatically while the daemon runs, and used for that daemon only.',
        context.config().adminUrl(),
      )
    },
    confirmContext: confirmed,
    beforeWrite: async () => {
      if (!flags.dryRun) await prepare()
    },
    beforeChange: async (what) => {
      if (!flags.dryRun) return
      await io().line({ dryRun: true, what }, () => what)
      throw new DryRunEnded()
    },
    explained: async (error) => {
      if (!(error instanceof TypeError) || made === undefined) return error
      const instance = await made.instance().catch(() => undefined)
      if (instance !== undefined) return error
      return new CliError(`${made.url.origin} answered, but not like Tapchip. Is it the daemon?`, {
        advice: 'Check the address: tapchip context show',
        cause: error,
      })
    },
    close: () => close(),
  }
  return context
}
