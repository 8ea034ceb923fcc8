import { type Command, CommanderError } from 'commander'
import { CliCommand, commanderOption, type Invoke, type Noun, setExamples } from './command/define.ts'
import { withoutOpposites } from './command/suggestions.ts'
import { createContext, flagsOf, globalOptions } from './context.ts'
import { DryRunEnded, describeError, type ExitCode, exitCodes, MissingCredential } from './errors.ts'
import { fileProblem } from './file-problem.ts'
import { cleanLines } from './io/text.ts'
import type { System } from './system.ts'

const group = (group: string, nouns: readonly (readonly [string, string, Noun['load']])[]): Noun[] =>
  nouns.map(([name, summary, load]) => ({ name, summary, group, load }))

const running = 'Running it:'

export const nouns: readonly Noun[] = [
  ...group('Chips:', [
    ['chips', 'List, look up, edit, import and export chips', () => import('./commands/chips/index.ts')],
    ['chip-groups', 'List and manage chip groups', () => import('./commands/chip-groups.ts')],
    ['items', 'List and manage items', () => import('./commands/items.ts')],
    [
      'phygitals',
      'Transfer tokens, sign transfers, edit metadata',
      () => import('./commands/phygitals/index.ts'),
    ],
    [
      'guestbook',
      'Deploy guestbooks, create events, mint to guests',
      () => import('./commands/guestbook/index.ts'),
    ],
    [
      'badge-events',
      'Create, assign and mint badge events',
      () => import('./commands/badge-events/index.ts'),
    ],
    ['refs', 'Query refs', () => import('./commands/refs.ts')],
    ['otps', 'Show and delete OTP codes', () => import('./commands/otps.ts')],
    [
      'reservations',
      'See and release what is kept for people by e-mail',
      () => import('./commands/reservations.ts'),
    ],
    ['taps', 'List, count, follow and simulate taps', () => import('./commands/taps.ts')],
    [
      'nfc',
      'Read, verify and set up chips with a reader on this machine',
      () => import('./commands/nfc/index.ts'),
    ],
    ['labels', 'Print labels for chips', () => import('./commands/labels.ts')],
    ['batch', 'List, resume and undo batches', () => import('./commands/batch/index.ts')],
    ['key-sets', 'List and manage the key sets of chips', () => import('./commands/key-sets.ts')],
  ]),
  ...group('Teams, keys and tokens:', [
    ['teams', 'List and manage teams', () => import('./commands/teams.ts')],
    [
      'api-keys',
      'List, create and revoke API keys',
      async () => ({ verbs: (await import('./commands/credentials.ts')).apiKeyVerbs }),
    ],
    [
      'admin-tokens',
      'List, create and revoke admin tokens',
      async () => ({ verbs: (await import('./commands/credentials.ts')).adminTokenVerbs }),
    ],
    [
      'contracts',
      'List, deploy, register and edit token contracts',
      () => import('./commands/contracts/index.ts'),
    ],
    ['transactions', 'List, show and cancel transactions', () => import('./commands/transactions/index.ts')],
    ['links', 'List and manage the links of the tap page', () => import('./commands/links.ts')],
    [
      'pages',
      'Look at the tap page in every state, and give it your own words',
      () => import('./commands/pages.ts'),
    ],
    [
      'webhooks',
      'Register webhooks, and see and repeat their deliveries',
      () => import('./commands/webhooks.ts'),
    ],
    ['audit', 'See who changed what', () => import('./commands/audit/index.ts')],
  ]),
  ...group(running, [
    ['daemon', 'Start, stop and watch the daemon', () => import('./commands/daemon/index.ts')],
    ['dev', 'Run a daemon with demo data for an app in development', () => import('./commands/dev/dev.ts')],
    [
      'console',
      'Open a page to watch and steer the daemon in a browser',
      () => import('./commands/console.ts'),
    ],
    ['ci', 'Run a command against a temporary daemon', () => import('./commands/ci.ts')],
    ['context', 'Manage several daemons and their keys', () => import('./commands/context.ts')],
    ['login', 'Save an API key', () => import('./commands/login.ts')],
    ['doctor', 'Check that everything works', () => import('./commands/doctor.ts')],
    ['bugreport', 'Collect diagnostics for a support request', () => import('./commands/bugreport.ts')],
    ['backup', 'Back up the database while the daemon runs', () => import('./commands/backup.ts')],
    ['restore', 'Put a backup into a data directory', () => import('./commands/restore.ts')],
    ['store', 'Move the database between engines', () => import('./commands/store.ts')],
    ['completion', 'Print the completion script of a shell', () => import('./commands/completion/script.ts')],
  ]),
  {
    name: 'help',
    summary: 'Show help for a command, or on exit-codes, environment, formatting, files',
    group: running,
    load: async () => ({ verb: (await import('./commands/help.ts')).helpBy(createProgram) }),
  },
  {
    name: '__complete',
    summary: 'List completions, for completion scripts',
    group: running,
    hidden: true,
    load: async () => ({ verb: (await import('./commands/completion/complete.ts')).completeAmong(nouns) }),
  },
]

class VersionAsked extends Error {}

export const attachVerbs = async (command: Command, noun: Noun, invoke: Invoke): Promise<void> => {
  const loaded = await noun.load()
  if ('verb' in loaded) loaded.verb.configure(command, invoke)
  else {
    command.usage('<command> [options]')
    setExamples(
      command,
      loaded.verbs.slice(0, 4).flatMap(({ examples }) => examples.slice(0, 1)),
    )
    for (const verb of loaded.verbs) verb.configure(command.command(verb.name), invoke)
  }
}

/** Rephrases Commander's errors like all others: a sentence, and what to do. */
const asSentences = (text: string): string => {
  const [first = '', ...rest] = withoutOpposites(text.trimEnd().split('\n'))
  const sentence = first.replace(/^error: /, '').replace(/^./, (letter) => letter.toUpperCase())
  const why = /[.?!]$/.test(sentence) ? sentence : `${sentence}.`
  const hint = /^(Too many arguments|Missing required argument|Option .* argument missing)/.test(why)
    ? ['Check for an empty variable or missing quotes. Usage: --help']
    : []
  const meant = rest.map((line) => line.replace(/^\((.*)\)$/, '$1'))
  return `${[why, ...meant, ...hint].join('\n')}\n`
}

/** A fresh command tree with the nouns; their verbs are loaded when one is called. */
export const createProgram = (system: System, ended: (code: ExitCode) => void = () => undefined): Command => {
  const invoke: Invoke = async (command, run) => {
    const ctx = createContext(system, flagsOf(command))
    try {
      ended((await run(ctx)) ?? exitCodes.done)
      await ctx.io.flush()
    } catch (error) {
      if (error instanceof MissingCredential && error.neededAt !== undefined) {
        const { assertListening } = await import('./client/connection.ts')
        await assertListening(error.neededAt)
      }
      if (!(error instanceof DryRunEnded)) throw await ctx.explained(error)
      ctx.io.note('Dry run: nothing was written.')
      await ctx.io.flush()
    } finally {
      ctx.close()
    }
  }
  const program = new CliCommand('tapchip')
  program
    .description('Operate NFC chips that are tied to NFTs, from the command line.')
    .usage('<command> [options]')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void system.stdout.write(cleanLines(text)),
      writeErr: (text) => void system.stderr.write(cleanLines(text)),
      outputError: (text, write) => write(asSentences(text)),
      getOutHelpWidth: () => Math.min(system.stdout.isTTY ? (system.stdout.columns ?? 100) : 100, 120),
      getErrHelpWidth: () => 100,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
  setExamples(program, [
    'daemon start',
    'chips import --file chips.csv --chip-group Jackets --key-set 101',
    'chips edit --file edits.csv --dry-run',
    'chips list --chip-group Jackets --json',
  ])
  for (const option of globalOptions) program.addOption(commanderOption(option))
  program.option('-V, --version', 'Show the versions of this program and of the daemon')
  program.on('option:version', () => {
    throw new VersionAsked()
  })

  const byName = new Map(nouns.map((noun) => [noun.name, noun]))
  for (const noun of nouns) {
    program
      .command(noun.name, { hidden: noun.hidden === true })
      .summary(noun.summary)
      .description(noun.summary)
      .helpGroup(noun.group)
  }
  program.hook('preSubcommand', async (_, command) => {
    const noun = byName.get(command.name())
    if (noun) await attachVerbs(command, noun, invoke)
  })
  return program
}

// Refs and OTP codes are 21 characters of A-Z a-z 0-9 _ -, so one in 64 begins with a dash and looks like a flag.
const dashedCode = /^-[A-Za-z0-9_-]{20}$/

/** Moves codes that begin with a dash behind `--`, so that they are not parsed as flags. */
const separateCodes = (args: readonly string[]): readonly string[] => {
  if (!args.some((arg) => arg === 'refs' || arg === 'otps') || args.includes('--')) return args
  const codes = args.filter((arg) => dashedCode.test(arg))
  return codes.length === 0 ? args : [...args.filter((arg) => !dashedCode.test(arg)), '--', ...codes]
}

export const runCli = async (system: System, args: readonly string[]): Promise<ExitCode> => {
  let exitCode: ExitCode = exitCodes.done
  const program = createProgram(system, (code) => {
    exitCode = code
  })
  try {
    await program.parseAsync([...separateCodes(args)], { from: 'user' })
    return exitCode
  } catch (error) {
    if (error instanceof VersionAsked) {
      const { printVersion } = await import('./commands/version.ts')
      return printVersion(system, args)
    }
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.usage
    const { lines, exitCode: code } = describeError(fileProblem(error) ?? error)
    system.stderr.write(`${cleanLines(lines.join('\n'))}\n`)
    if (system.env.TAPCHIP_DEBUG && error instanceof Error)
      system.stderr.write(`${cleanLines(String(error.stack))}\n`)
    return code
  }
}
