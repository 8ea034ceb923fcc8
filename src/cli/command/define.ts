import { type Command, Option } from 'commander'
import type { CliContext } from '../context.ts'
import { type ExitCode, UsageError } from '../errors.ts'
import { setExamples } from './help.ts'
import type { ArgumentSpecs, OptionSpecs, Raw, Values } from './options.ts'

export interface CommandSpec<A extends ArgumentSpecs, O extends OptionSpecs> {
  readonly name: string
  readonly summary: string
  readonly description?: string
  /** As typed, without the leading `tapchip`. */
  readonly examples: readonly string[]
  readonly args?: A
  readonly options?: O
  /** The message for an extra argument whose meaning is clear. */
  readonly excess?: (given: string) => string
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
          const given: Record<string, unknown> = command.opts()
          const input = {
            args: readAll((spec.args ?? {}) as A, (_, i) => command.processedArgs[i]),
            options: readAll((spec.options ?? {}) as O, (_, i) => given[attributes[i] ?? '']),
          }
          const code = await spec.run(ctx, input)
          return typeof code === 'number' ? code : undefined
        }),
      )
    },
  }
}
