import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseObject } from '../../values/json.ts'
import { defineCommand } from '../command/define.ts'
import { argument, text, yes } from '../command/options.ts'
import type { CliContext } from '../context.ts'
import { CliError, UsageError } from '../errors.ts'
import { withFiles } from '../file-problem.ts'
import { clean, shellQuoted } from '../io/text.ts'
import { dataDir } from '../system.ts'
import { realDir } from './daemon/choose.ts'

const variable = 'TAPCHIP_BACKUP_PASSPHRASE'

const restore = defineCommand({
  name: 'restore',
  summary: 'Put a backup into a data directory while no daemon runs there',
  description:
    'Put a backup into a data directory while no daemon runs there. Data that is there already is kept in a folder ' +
    'inside it. Refs, codes, and registrations that were open at the time of the backup are no longer valid, and the ' +
    'first tap of each chip only brings its counter up to date. If a restore is interrupted, run it again.',
  examples: [
    'restore backups/tapchip-2026-11-20T03-00-00.000Z --data-dir /var/lib/tapchip',
    'restore /mnt/usb/tapchip-2026-11-20T03-00-00.000Z --passphrase-file passphrase.txt --yes',
  ],
  args: { folder: argument('folder', 'The folder that tapchip backup made') },
  options: {
    dataDir: text('--data-dir <dir>', 'The data directory to restore into', 'file'),
    passphraseFile: text('--passphrase-file <file>', 'The passphrase of the backup', 'file'),
    yes,
  },
  run: async (ctx, { args, options }) => {
    const from = resolve(ctx.system.cwd, args.folder)
    if (!existsSync(from)) throw new UsageError(`${from} does not exist. Give the folder of a backup.`)
    const into = realDir(ctx, options.dataDir ?? dataDir(ctx.system))
    const passphrase = await passphraseFor(ctx, from, options.passphraseFile)
    await ctx.beforeChange(`Would restore ${from} into ${into}`)
    if (existsSync(join(into, 'tapchip.db')))
      await ctx.prompts.confirm(
        options.yes,
        `${into} has data. Replace it with the backup? The old data is kept in a folder there.`,
      )
    const restored = await runRestore(ctx, ['--restore', from, '--data-dir', into], passphrase)
    await ctx.io.one(restored, (it) => ({
      'Restored into': it.dataDir,
      'As of': it.madeAt,
      'Old data': it.keptAside ?? 'none',
      'Chips to catch up': it.chips,
    }))
    ctx.io.note(
      'The first tap of each chip only brings its counter up to date, and is not valid: have valuable chips tapped now.',
    )
    ctx.io.note(
      'API keys and admin tokens that were revoked since the backup are valid again, and chips that were disabled since are enabled: revoke and disable them again before you let anybody in.',
    )
    if (ctx.system.env.TAPCHIP_DATABASE_URL)
      ctx.io.warn(
        `TAPCHIP_DATABASE_URL is set: daemons use that database, and not ${into}. Unset it, or copy the backup there: tapchip store copy --data-dir ${shellQuoted(into)} --to URL`,
      )
    ctx.io.hint(`Next: tapchip daemon start --data-dir ${shellQuoted(into)} · tapchip doctor`)
  },
})

export const verb = restore

/** Undefined: the daemon looks for the key itself, and says what is missing. */
const passphraseFor = async (
  ctx: CliContext,
  from: string,
  file: string | undefined,
): Promise<string | undefined> => {
  if (file !== undefined) {
    const path = resolve(ctx.system.cwd, file)
    const typed = withFiles({ path, verb: 'read' }, () => readFileSync(path, 'utf8')).replace(/\r?\n$/, '')
    if (typed === '') throw new UsageError(`${path} is empty. It must contain the passphrase of the backup.`)
    return typed
  }
  const fromEnvironment = ctx.system.env[variable]
  if (fromEnvironment || !ctx.prompts.possible || !existsSync(join(from, 'data.key.enc')))
    return fromEnvironment
  return ctx.prompts.secret({ flag: '--passphrase-file', message: 'Passphrase of the backup' })
}

interface RestoreResult extends Record<string, unknown> {
  readonly dataDir: string
  readonly madeAt: string | null
  readonly keptAside: string | null
  readonly chips: number
}

/** The daemon's program does it: only it knows the database. */
const runRestore = async (
  ctx: CliContext,
  flags: readonly string[],
  passphrase: string | undefined,
): Promise<RestoreResult> => {
  // A database on a server is not what it restores.
  const { TAPCHIP_EPHEMERAL: _, TAPCHIP_DATABASE_URL: _url, ...env } = ctx.system.env
  const child = spawn(process.execPath, [ctx.system.daemonScript(), ...flags], {
    stdio: ['ignore', 'pipe', 'pipe'],
    cwd: ctx.system.cwd,
    env: { ...env, ...(passphrase === undefined ? {} : { [variable]: passphrase }) },
  })
  let [out, problem] = ['', '']
  child.stdout.on('data', (chunk) => (out += String(chunk)))
  child.stderr.on('data', (chunk) => (problem += String(chunk)))
  const code = await new Promise<number | null>((done, failed) => child.on('error', failed).on('close', done))
  const { event, from, dataDir: dir, madeAt, keptAside, chips } = parseObject(out) ?? {}
  if (code === 0 && event === 'restored')
    return {
      from: String(from),
      dataDir: String(dir),
      madeAt: madeAt === null ? null : String(madeAt),
      keptAside: keptAside === null ? null : String(keptAside),
      chips: Number(chips),
    }
  const message = clean(problem.trim().replace(/^tapchipd: /, ''))
  throw new CliError(message || 'The restore was interrupted. Run it again: it continues, or starts over.')
}
