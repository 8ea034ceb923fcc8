import { Command, type Help, Option } from 'commander'
import type { CliContext } from '../context.ts'
import { type ExitCode, UsageError } from '../errors.ts'
import { type ArgumentSpecs, type OptionSpecs, type Raw, team, type Values } from './options.ts'
import { insteadOf } from './suggestions.ts'

const examplesOf = new WeakMap<Command, readonly string[]>()

export const setExamples = (command: Command, examples: readonly string[]): void => {
  examplesOf.set(command, examples)
}

const section = (title: string, lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : [title, ...lines, '']

/** Examples omit the program name, unless it stands further inside. */
const asTyped = (example: string): string =>
  /(^|[\s|(])tapchip /.test(example) ? example : `tapchip ${example}`

const formatHelp = (command: Command, helper: Help): string => {
  const options = helper.visibleOptions(command)
  const isOwn = new Set(command.options.map(({ long }) => long))
  const globals = helper.visibleGlobalOptions(command).filter(({ long }) => !isOwn.has(long))
  const args = helper.visibleArguments(command)
  const commands = helper.visibleCommands(command)
  const term = (t: string, d: string, width: number) => helper.formatItem(t, width, d, helper)
  const width = Math.max(
    ...[...options, ...globals].map((option) => helper.optionTerm(option).length),
    ...args.map((arg) => helper.argumentTerm(arg).length),
    ...commands.map((sub) => sub.name().length),
  )
  const groups = new Map<string, string[]>()
  for (const sub of commands) {
    const title = sub.helpGroup() || 'Commands:'
    const line = term(sub.name(), helper.subcommandDescription(sub), width)
    groups.set(title, [...(groups.get(title) ?? []), line])
  }
  const lines = [
    helper.boxWrap(helper.commandDescription(command), helper.helpWidth ?? 80),
    '',
    ...section(
      'Examples:',
      (examplesOf.get(command) ?? []).map((example) => `  $ ${asTyped(example)}`),
    ),
    `Usage: ${helper.commandUsage(command)}`,
    '',
    ...section(
      'Arguments:',
      args.map((arg) => term(helper.argumentTerm(arg), helper.argumentDescription(arg), width)),
    ),
    ...[...groups].flatMap(([title, entries]) => section(title, entries)),
    ...section(
      'Options:',
      options.map((o) => term(helper.optionTerm(o), helper.optionDescription(o), width)),
    ),
    ...section(
      'Global options:',
      globals.map((o) => term(helper.optionTerm(o), helper.optionDescription(o), width)),
    ),
  ]
  return `${lines.join('\n').trimEnd()}\n`
}

/** Without arguments it prints its help on standard output, as if it had been asked for. */
export class CliCommand extends Command {
  constructor(name?: string) {
    super(name)
    this.configureHelp({ formatHelp, showGlobalOptions: true })
    this.helpOption('-h, --help', 'Show this help')
    this.helpCommand(false)
  }

  override createCommand(name?: string): CliCommand {
    return new CliCommand(name)
  }

  /** Commander calls it, and would suggest by letters alone. */
  unknownCommand(): never {
    const [typed = ''] = this.args
    const names = this.createHelp()
      .visibleCommands(this)
      .map((command) => command.name())
    return this.error(`error: unknown command '${typed}'\n${insteadOf(typed, names)}`, {
      code: 'commander.unknownCommand',
    })
  }

  override help(): never {
    return super.help()
  }
}

export interface CommandSpec<A extends ArgumentSpecs, O extends OptionSpecs> {
  readonly name: string
  readonly summary: string
  readonly description?: string
  /** Command lines, without the leading `tapchip`. */
  readonly examples: readonly string[]
  readonly args?: A
  readonly options?: O
  /** The message for an extra argument whose meaning is clear. */
  readonly excess?: (operand: string) => string
  /** Returns an exit code if it is not 0. Throws on failure. */
  readonly run: (
    ctx: CliContext,
    input: { readonly args: Values<A>; readonly options: Values<O> },
  ) => Promise<ExitCode | undefined> | Promise<void>
}

export type Invoke = (
  command: Command,
  run: (ctx: CliContext) => Promise<ExitCode | undefined> | Promise<void>,
) => Promise<void>

/** A command ready to be attached to a tree. */
export interface Verb {
  readonly name: string
  readonly summary: string
  readonly args: ArgumentSpecs
  readonly options: OptionSpecs
  readonly examples: readonly string[]
  configure(command: Command, invoke: Invoke): void
}

type Loaded = { readonly verbs: readonly Verb[] } | { readonly verb: Verb }

export interface Noun {
  readonly name: string
  readonly summary: string
  readonly group: string
  /** Not in the help. */
  readonly hidden?: boolean
  /** Imports its verbs. Only the noun that is called does so, which keeps the start quick. */
  readonly load: () => Promise<Loaded>
}

const isRaw = (value: unknown): value is Raw =>
  value === undefined || typeof value === 'string' || typeof value === 'boolean' || Array.isArray(value)

/** Reads each raw value by its spec; the keys stay, and so does the type. */
const readAll = <S extends Readonly<Record<string, { read: (raw: Raw) => unknown }>>>(
  specs: S,
  rawOf: (key: string, index: number) => unknown,
): Values<S> => {
  const entries = Object.entries(specs).map(([key, spec], index) => {
    const raw = rawOf(key, index)
    return [key, spec.read(isRaw(raw) ? raw : undefined)]
  })
  // Object.fromEntries loses the types of the keys.
  return Object.fromEntries(entries) as Values<S>
}

export const commanderOption = (spec: {
  flags: string
  description: string
  repeatable?: boolean
}): Option => {
  const option = new Option(spec.flags, spec.description)
  if (spec.repeatable) {
    option.argParser((value: string, before: unknown) => [...(Array.isArray(before) ? before : []), value])
  }
  return option
}

export const defineCommand = <
  const A extends ArgumentSpecs = Record<never, never>,
  const O extends OptionSpecs = Record<never, never>,
>(
  spec: CommandSpec<A, O>,
): Verb => {
  const args: ArgumentSpecs = spec.args ?? {}
  const options: OptionSpecs = spec.options ?? {}
  return {
    name: spec.name,
    summary: spec.summary,
    args,
    options,
    examples: spec.examples,
    configure: (command, invoke) => {
      command.summary(spec.summary).description(spec.description ?? spec.summary)
      setExamples(command, spec.examples)
      for (const { written, description } of Object.values(args)) command.argument(written, description)
      const attributes = Object.values(options).map((option) => {
        const made = commanderOption(option)
        command.addOption(made)
        return made.attributeName()
      })
      if (spec.excess) command.allowExcessArguments()
      command.action(() =>
        invoke(command, async (ctx) => {
          const excess = command.args[Object.keys(args).length]
          if (spec.excess && excess !== undefined) throw new UsageError(spec.excess(excess))
          const values: Record<string, unknown> = { ...command.opts() }
          // What a file in the project directory names is the default of --team.
          const teamAt = Object.values(options).indexOf(team)
          const named = attributes[teamAt]
          if (named !== undefined) values[named] ??= ctx.flags.team
          const input = {
            args: readAll((spec.args ?? {}) as A, (_, i) => command.processedArgs[i]),
            options: readAll((spec.options ?? {}) as O, (_, i) => values[attributes[i] ?? '']),
          }
          const code = await spec.run(ctx, input)
          return typeof code === 'number' ? code : undefined
        }),
      )
    },
  }
}
