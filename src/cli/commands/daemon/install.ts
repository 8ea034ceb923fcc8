import { chmodSync, existsSync, mkdirSync, realpathSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { replaceFile } from '../../../values/files.ts'
import { defineCommand } from '../../command/define.ts'
import { flag, text, type Values, yes } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'
import { CliError, DryRunEnded, UsageError } from '../../errors.ts'
import { withFiles } from '../../file-problem.ts'
import { clean, shellQuoted } from '../../io/text.ts'
import { placesOf, readUnit, type Scope, systemctl, unitName } from '../../local-daemon.ts'
import { dataDir } from '../../system.ts'
import { flagsFrom, options as startOptions } from './start.ts'
import { assertSystemd, requireSystemctl, runProgram, stateOf } from './systemd.ts'
import { unitText } from './unit.ts'

const { ephemeral: _, ...daemonOptions } = startOptions

export const scopeFlags = {
  user: flag('--user', 'A service of this user (the default, except for root)'),
  system: flag('--system', 'A service of the machine, with a user of its own (the default for root)'),
}

const options = {
  ...scopeFlags,
  ...daemonOptions,
  runAs: text('--run-as <user>', 'The user of a system service (default: one that systemd creates)'),
  yes,
}
type Options = Values<typeof options>

export const install = defineCommand({
  name: 'install',
  summary: 'Install the daemon as a service of systemd',
  description:
    'Write a unit for systemd, and start it now and whenever the machine starts (with --user: whenever you log in). ' +
    'Options for the daemon go into the unit; secrets go into the file for its environment, which only its owner can read.',
  examples: [
    'daemon install --user --dry-run',
    'daemon install --base-url https://tap.example.com',
    'daemon install --user --port 9000',
  ],
  options,
  run: async (ctx, { options }) => {
    const scope = scopeOf(options)
    const { unitPath, envFile } = placesOf(ctx.system, scope)
    const place = dataDirFor(ctx, scope, options)
    const unit = unitFor(ctx, { scope, options, place })
    const before = readUnit(unitPath)
    if (ctx.flags.dryRun) {
      await (ctx.io.json
        ? ctx.io.line({ dryRun: true, path: unitPath, envFile, unit }, () => '')
        : ctx.io.raw(unit))
      throw new DryRunEnded()
    }
    await assertSystemd(ctx, scope)
    if (before !== undefined && before !== unit)
      await ctx.prompts.confirm(options.yes, changes(unitPath, before, unit))
    const isNew = before === undefined
    if (before !== unit) {
      const advice =
        scope === 'system' ? 'As root: sudo tapchip daemon install. Or only for you: --user' : undefined
      withFiles({ path: unitPath, verb: 'written', ...(advice ? { advice } : {}) }, () => {
        writeEnvFile(envFile)
        if (place !== undefined) mkdirSync(place, { recursive: true, mode: 0o700 })
        mkdirSync(dirname(unitPath), { recursive: true })
        replaceFile(unitPath, unit)
        // It holds no secrets, and `systemctl cat` should show it.
        chmodSync(unitPath, 0o644)
      })
      await requireSystemctl(ctx, scope, 'daemon-reload')
    }
    const service = { scope, unitPath, envFile, dataDir: undefined }
    const previousState = await stateOf(ctx, service)
    if (!previousState.enabled) await requireSystemctl(ctx, scope, 'enable', unitName)
    const isRunning = previousState.active === 'active'
    if (!isRunning || before !== unit) await startIt(ctx, scope)
    const status = isNew
      ? 'installed'
      : before === unit && isRunning && previousState.enabled
        ? 'unchanged'
        : 'changed'
    await ctx.io.one({ status, scope, unit: unitPath, envFile }, (it) => ({
      Service: `${it.status}, ${scope === 'user' ? 'for this user' : 'for the machine'}`,
      Unit: it.unit,
      Environment: it.envFile,
    }))
    hintAtEnvironment(ctx, envFile)
    if (scope === 'user')
      ctx.io.hint('It stops when you log out, unless you allow it to stay: loginctl enable-linger')
    ctx.io.hint('Next: tapchip daemon status · tapchip daemon logs -f')
  },
})

/** @throws UsageError if both are given */
export const scopeOf = ({ user, system }: { readonly user: boolean; readonly system: boolean }): Scope => {
  if (user && system) throw new UsageError('Use --user or --system, not both.')
  return system || (!user && process.getuid?.() === 0) ? 'system' : 'user'
}

/** @returns undefined for the StateDirectory @throws UsageError if the service could not use it */
const dataDirFor = (
  ctx: CliContext,
  scope: Scope,
  { dataDir: chosenDir, runAs }: Options,
): string | undefined => {
  const chosen = chosenDir ?? existingData(ctx, scope)
  if (chosen === undefined) return undefined
  const place = resolve(ctx.system.cwd, chosen)
  if (scope === 'user') return place
  if (runAs === undefined)
    throw new UsageError(
      'A system service with a data directory of your choice needs a user that owns it.',
      'Give the user: --run-as USER. Or leave --data-dir out: systemd then keeps the data in /var/lib/tapchip.',
    )
  if (!existsSync(place))
    throw new UsageError(
      `${place} does not exist.`,
      `Create it for the user of the service: install -d -m 700 -o ${runAs} ${shellQuoted(place)}`,
    )
  return place
}

interface UnitInput {
  readonly scope: Scope
  readonly options: Options
  readonly place: string | undefined
}

/** @throws UsageError if the service could not work */
const unitFor = (ctx: CliContext, { scope, options, place }: UnitInput): string => {
  const { runAs, port } = options
  if (runAs !== undefined && scope === 'user') throw new UsageError('--run-as is for a system service.')
  if (runAs !== undefined && !/^[A-Za-z_][\w-]*$/.test(runAs))
    throw new UsageError(`--run-as: "${runAs}" is not the name of a user.`)
  const flags = flagsFrom(ctx, { ...options, dataDir: place, ephemeral: false }, undefined)
  const paths = {
    node: process.execPath,
    script: ctx.system.daemonScript(),
    ...(options.config === undefined ? {} : { config: resolve(ctx.system.cwd, options.config) }),
    ...(options.seed === undefined ? {} : { seed: resolve(ctx.system.cwd, options.seed) }),
  }
  const all = [...Object.values(paths), ...flags, place ?? '']
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a unit has one setting a line.
  const bad = all.find((path) => /[\u0000-\u001f\u007f]/.test(path))
  if (bad !== undefined)
    throw new UsageError(`${clean(bad)} contains a control character, which units do not allow.`)
  if (/["'\\]/.test(paths.node))
    throw new UsageError(`systemd runs no program with a quote or a backslash in its path: ${paths.node}`)
  for (const path of Object.values(paths)) assertReadable(path, { scope, runAs })
  const { envFile, stateDirs } = placesOf(ctx.system, scope)
  const isUsed = (folders: RegExp) => [...all, ...stateDirs].some((path) => folders.test(path))
  const { node, script } = paths
  return unitText({
    scope,
    node,
    script,
    flags,
    envFile,
    dataDir: place,
    runAs,
    port,
    usesHomes: isUsed(/^\/(home|root|run\/user)(\/|$)/),
    usesTmp: isUsed(/^(\/var)?\/tmp(\/|$)/),
  })
}

/** The data directory of `daemon start`, which the user's service takes over. */
const existingData = (ctx: CliContext, scope: Scope): string | undefined => {
  if (scope === 'system') return undefined
  const defaultDir = dataDir(ctx.system)
  return existsSync(join(defaultDir, 'instance')) ? defaultDir : undefined
}

/** The user that systemd makes has no rights of anybody's. @throws UsageError */
const assertReadable = (
  path: string,
  { scope, runAs }: { scope: Scope; runAs: string | undefined },
): void => {
  if (!existsSync(path)) throw new UsageError(`${path} does not exist.`)
  if (scope === 'user' || runAs !== undefined) return
  for (let place = realpathSync(path), needed = 0o004; ; place = dirname(place), needed = 0o001) {
    if ((statSync(place).mode & needed) === 0)
      throw new UsageError(
        `The service has a user of its own, and that user cannot read ${path}: ${place} is closed to others.`,
        'Put it where everybody can read it (npm install -g, as root), name a user who can: --run-as USER, or install it for yourself: --user',
      )
    if (place === dirname(place)) return
  }
}

const environmentTemplate = `# Settings and secrets for the Tapchip service, one per line: NAME=value
# tapchipd --help lists the names. After a change: systemctl restart tapchip
# (with --user for a user service).
#
# TAPCHIP_TRUST_PROXY=1
# TAPCHIP_RPC_8453=https://...
# TAPCHIP_DATABASE_URL=postgres://...
# TAPCHIP_DATA_KEY=...
# TAPCHIP_RELAYER_KEY_8453=...
`

const writeEnvFile = (path: string): void => {
  mkdirSync(dirname(path), { recursive: true, mode: 0o755 })
  if (existsSync(path)) chmodSync(path, 0o600)
  else replaceFile(path, environmentTemplate)
}

/** @throws CliError with the end of its log if it does not become ready */
const startIt = async (ctx: CliContext, scope: Scope): Promise<void> => {
  try {
    // Also starts it if it does not run.
    await requireSystemctl(ctx, scope, 'restart', unitName)
  } catch (error) {
    const which = scope === 'user' ? ['--user', `--user-unit=${unitName}`] : [`--unit=${unitName}`]
    const { stdout } = await runProgram(ctx, 'journalctl', [...which, '--no-pager', '-o', 'cat', '-n', '8'])
    const end = stdout.trim().split('\n').map(clean).join('\n')
    throw new CliError(`The service is installed, but it does not start.${end === '' ? '' : `\n${end}`}`, {
      advice: `See why: tapchip daemon logs · Then: ${systemctl({ scope })} restart ${unitName}`,
      cause: error,
    })
  }
}

/** The lines of a unit that go and come, as a question. */
const changes = (path: string, before: string, after: string): string => {
  const [old, now] = [before.split('\n'), after.split('\n')]
  const lines = [
    ...old.filter((line) => !now.includes(line)).map((line) => `- ${line}`),
    ...now.filter((line) => !old.includes(line)).map((line) => `+ ${line}`),
  ]
  return `${path} exists and is different:\n${lines.map(clean).join('\n')}\nReplace it, and restart the service?`
}

/** The variables of this shell would silently be missing. */
const ofCli = /^TAPCHIP_(URL|ADMIN_URL|API_KEY|ADMIN_TOKEN|CONTEXT|DEBUG|TEST_.*)$/
const hintAtEnvironment = (ctx: CliContext, envFile: string): void => {
  const names = Object.keys(ctx.system.env).filter(
    (name) => name.startsWith('TAPCHIP_') && !ofCli.test(name) && ctx.system.env[name],
  )
  const current = readUnit(envFile) ?? ''
  const missing = names.filter((name) => !new RegExp(`^${name}=`, 'm').test(current))
  if (missing.length > 0)
    ctx.io.note(
      `The service does not have these variables of your shell: ${missing.join(', ')}. It takes them from ${envFile}.`,
    )
}
