import { Interrupted, UsageError } from './errors.ts'
import { clean, cleanLines } from './io/text.ts'
import { isCi, type System } from './system.ts'

/** Asks on a terminal only; elsewhere, a missing value is a usage error that names the flag. */
export interface Prompts {
  readonly possible: boolean
  text(value: string | undefined, missing: { flag: string; message: string }): Promise<string>
  choice(
    value: string | undefined,
    missing: {
      flag: string
      message: string
      choices: () => Promise<readonly { name: string; value: string }[]>
    },
  ): Promise<string>
  secret(missing: { flag: string; message: string }): Promise<string>
  /** Off a terminal, naming the one thing on the command line confirms it. Not for removals. */
  named(yes: boolean): boolean
  confirm(yes: boolean, message: string): Promise<void>
  /** For irreversible actions: the name has to be typed, so that nobody confirms out of habit. */
  confirmByName(
    yes: boolean,
    message: string,
    named: { readonly what: string; readonly is: (typed: string) => boolean },
  ): Promise<void>
}

type Question = Readonly<Record<string, unknown>> & { readonly message: string }

export const createPrompts = (
  system: System,
  flags: { readonly input: boolean; readonly dryRun: boolean },
): Prompts => {
  const ci = isCi(system)
  const possible = flags.input && !ci && system.stdin.isTTY === true && system.stderr.isTTY === true
  const absent = (flag: string) => new UsageError(`${flag} is missing.`)

  // Loaded at the first question: it is larger than the rest of the program.
  const ask = async (question: Question): Promise<unknown> => {
    const { default: inquirer } = await import('inquirer')
    const prompt = inquirer.createPromptModule({ input: system.stdin, output: system.stderr })
    try {
      const asked = { ...question, message: cleanLines(question.message), name: 'answer' }
      const answers: Record<string, unknown> = await prompt([asked as never])
      return answers.answer
    } catch (error) {
      if (error instanceof Error && error.name === 'ExitPromptError') throw new Interrupted()
      throw error
    }
  }
  const askText = async (question: Question): Promise<string> => {
    const answer = await ask({
      ...question,
      validate: (text: unknown) => String(text).trim() !== '' || 'Enter a value.',
    })
    return String(answer).trim()
  }

  return {
    possible,
    text: async (value, { flag, message }) => {
      if (value !== undefined) return value
      if (!possible) throw absent(flag)
      return askText({ type: 'input', message })
    },
    choice: async (preset, { flag, message, choices }) => {
      if (preset !== undefined) return preset
      if (!possible) throw absent(flag)
      const offered = await choices()
      if (offered.length === 0) throw absent(flag)
      return String(
        await ask({
          type: 'select',
          message,
          choices: offered.map(({ name, value }) => ({ name: clean(name), value })),
        }),
      )
    },
    secret: async ({ flag, message }) => {
      if (!possible) throw absent(flag)
      return askText({ type: 'password', message, mask: '*' })
    },
    named: (yes) => yes || !possible,
    confirm: async (yes, message) => {
      // A dry run changes nothing, so there is nothing to confirm.
      if (yes || flags.dryRun) return
      if (!possible) throw new UsageError(`${message} Confirm with --yes`)
      const answer = await ask({ type: 'confirm', message, default: false })
      if (answer !== true) throw new UsageError('Nothing was changed.')
    },
    confirmByName: async (yes, message, { what, is }) => {
      if (yes || flags.dryRun) return
      if (!possible) throw new UsageError(`${message} Confirm with --yes`)
      const typed = await ask({ type: 'input', message: `${message} To confirm, type ${what}:` })
      if (!is(String(typed).trim())) throw new UsageError(`That is not ${what}. Nothing was changed.`)
    },
  }
}
