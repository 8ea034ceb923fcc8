import { defineCommand } from '../command/define.ts'
import { flag } from '../command/options.ts'
import type { CliContext } from '../context.ts'
import { UsageError } from '../errors.ts'

const backup = defineCommand({
  name: 'backup',
  summary: 'Back up the database while the daemon runs',
  description:
    "Write a copy of the database into a folder of the daemon. A passphrase wraps the daemon's data key into it, " +
    'so that the backup can be read elsewhere; it comes from TAPCHIP_BACKUP_PASSPHRASE, standard input or a prompt. ' +
    'A database on PostgreSQL is copied by pg_dump instead.',
  examples: ['backup', 'TAPCHIP_BACKUP_PASSPHRASE=… tapchip backup --json', 'backup --without-data-key'],
  options: {
    passphraseStdin: flag('--passphrase-stdin', 'Read the passphrase from standard input'),
    withoutDataKey: flag(
      '--without-data-key',
      "Leave the data key out: the backup needs the daemon's own key file",
    ),
  },
  run: async (ctx, { options }) => {
    ctx.needAdmin()
    if (options.withoutDataKey && options.passphraseStdin)
      throw new UsageError('Use --passphrase-stdin or --without-data-key, not both.')
    const passphrase = options.withoutDataKey ? undefined : await readPassphrase(ctx, options.passphraseStdin)
    const made = await ctx.call('POST /admin/backup', { body: { passphrase } })
    await ctx.io.one(made, (it) => ({
      Path: it.path,
      Size: `${it.sizeBytes.toLocaleString('en-US')} bytes`,
      'Holds the data key': it.holdsDataKey,
    }))
    ctx.io.hint(`Copy it to another machine: it is still in a folder of this daemon.`)
    if (made.warning) ctx.io.warn(made.warning)
  },
})

export const verb = backup

const readPassphrase = async (ctx: CliContext, byInput: boolean): Promise<string | undefined> => {
  const variable = ctx.system.env.TAPCHIP_BACKUP_PASSPHRASE
  if (variable && !byInput) return variable
  if (!byInput) {
    // Refused in any case, which is better said before a passphrase is asked for.
    const status = await ctx.call('GET /admin/status').catch(() => undefined)
    if (status?.database.server) return undefined
    return ctx.prompts.secret({
      flag: 'TAPCHIP_BACKUP_PASSPHRASE, --passphrase-stdin or --without-data-key',
      message: 'Passphrase for the backup',
    })
  }
  let text = ''
  for await (const chunk of ctx.system.stdin) text += String(chunk)
  const passphrase = text.replace(/\r?\n$/, '')
  if (passphrase === '') throw new UsageError('Standard input has no passphrase.')
  return passphrase
}
