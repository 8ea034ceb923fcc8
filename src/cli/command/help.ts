import { Command, type Help } from 'commander'
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
  const globals = helper.visibleGlobalOptions(command)
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
