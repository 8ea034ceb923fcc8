import type { Command } from 'commander'
import type { Flags } from './context.ts'
import { UsageError } from './errors.ts'

export const globalOptions = [
  {
    flags: '--json',
    description: 'Print JSON: a list as one array, batches and streams as one object per line',
  },
  {
    flags: '--url <url>',
    description: 'The daemon (default: TAPCHIP_URL, the context, http://127.0.0.1:8484)',
  },
  { flags: '--context <name>', description: 'The context for address and keys' },
  { flags: '--confirm <name>', description: 'Confirm changes to a protected context by its name' },
  { flags: '--timeout <seconds>', description: 'How long to wait for an answer (default: 30)' },
  { flags: '--dry-run', description: 'Show what would be done, and write nothing' },
  {
    flags: '--fields <names>',
    description: 'Print only these fields, named as in --json (a,b)',
  },
  { flags: '--quiet', description: 'Print only data and errors' },
  { flags: '--no-color', description: 'No colors' },
  { flags: '--no-input', description: 'Never prompt; missing values are errors' },
]

/**
 * In commands with --to, which takes a URL of its own, --url alone is that one: nobody means two with one flag. The daemon
 * is then the one of the context.
 */
const withOwnUrl = (command: Command): Record<string, unknown> => {
  const given: Record<string, unknown> = command.optsWithGlobals()
  if (!command.options.some(({ long }) => long === '--to') || given.to !== undefined) return given
  command.setOptionValue('to', given.url)
  return { ...given, url: undefined }
}

export const flagsOf = (command: Command): Flags => {
  const given = withOwnUrl(command)
  const word = (value: unknown) => (typeof value === 'string' ? value : undefined)
  const seconds = word(given.timeout) === undefined ? undefined : Number(given.timeout)
  if (seconds !== undefined && !(seconds > 0 && seconds <= 86_400)) {
    throw new UsageError(`--timeout must be a number of seconds, not "${given.timeout}".`)
  }
  if (given.json === true && given.csv === true) throw new UsageError('Choose either --json or --csv.')
  return {
    url: word(given.url),
    context: word(given.context),
    timeoutSeconds: seconds,
    json: given.json === true,
    csv: given.csv === true,
    fields: fieldsOf(word(given.fields)),
    quiet: given.quiet === true,
    color: given.color !== false,
    input: given.input !== false,
    dryRun: given.dryRun === true,
    confirm: word(given.confirm),
    team: word(given.team),
  }
}

const fieldsOf = (given: string | undefined): readonly string[] | undefined => {
  if (given === undefined) return undefined
  const names = given.split(',').flatMap((name) => name.trim() || [])
  if (names.length > 0) return names
  throw new UsageError('--fields names no field.', 'Use the names in --json: --fields uid,redirectUrl')
}
