import { ApiError } from '../../client/errors.ts'
import type { AnswerOf } from '../../client/types.ts'
import type { CliContext } from '../../context.ts'
import { counted } from '../../io/text.ts'
import { installedServices, systemctl, unitName } from '../../local-daemon.ts'
import { stateOf } from '../daemon/systemd.ts'
import { type Finding, fail, ok, warn } from './finding.ts'

/** Nothing, if no service is installed: a daemon does without. */
export const checkServices = (ctx: CliContext): Promise<Finding[]> =>
  Promise.all(
    installedServices(ctx.system).map(async (service) => {
      const { active, enabled } = await stateOf(ctx, service)
      const name = `service (${service.scope})`
      const start = `${systemctl(service)} start ${unitName}, then: tapchip daemon logs`
      if (active !== 'active') return fail(name, `${unitName} is ${active}`, start)
      return enabled
        ? ok(name, `${unitName} is active, and starts automatically`)
        : warn(
            name,
            `${unitName} is active, but does not start automatically`,
            `${systemctl(service)} enable ${unitName}`,
          )
    }),
  )

const maxDays = 7
const dayMs = 86_400_000

export const checkBackup = (
  ctx: CliContext,
  { counts, ephemeral, lastBackupAt }: AnswerOf<'GET /admin/status'>,
): Finding[] => {
  // An earlier daemon does not report it.
  if (ephemeral || counts.chips === 0 || lastBackupAt === undefined) return []
  const fix = 'tapchip backup, and copy it to another machine'
  if (lastBackupAt === null) return [warn('backup', 'none was ever made', fix)]
  const days = Math.floor((ctx.now().getTime() - Date.parse(lastBackupAt)) / dayMs)
  return [
    days > maxDays
      ? warn('backup', `the last one was made ${days} days ago`, fix)
      : ok('backup', `the last one was made at ${lastBackupAt}`),
  ]
}

const maxNamed = 5

/** Taps of the last day under key sets that the daemon does not have. */
export const checkRefusedTaps = async (ctx: CliContext): Promise<Finding[]> => {
  const since = new Date(ctx.now().getTime() - dayMs).toISOString()
  const query = { outcome: 'unknown-key-set' as const, since, limit: 1000 }
  const taps = await ctx.call('GET /admin/taps', { query }).catch((error: unknown) => {
    // Of a wrong API key, another check tells.
    if (error instanceof ApiError) return []
    throw error
  })
  const ids = [...new Set(taps.flatMap(({ keySet }) => keySet ?? []))].sort((a, b) => a - b)
  if (ids.length === 0) return []
  const named = `${ids.slice(0, maxNamed).join(', ')}${ids.length > maxNamed ? ', …' : ''}`
  return [
    warn(
      'taps',
      `since yesterday, ${counted(taps.length, 'tap')} named a key set that is not here: ${named}`,
      'if the chips are yours, load it: tapchip key-sets create --file FILE',
    ),
  ]
}

export const checkBadges = ({ provider, trouble }: AnswerOf<'GET /admin/status'>['badges']): Finding =>
  trouble === null
    ? ok('badges', provider === 'poap' ? 'POAP answers, and accepts the account' : 'embedded')
    : fail(
        'badges',
        trouble.replace(/\.$/, ''),
        'check TAPCHIP_POAP_…, and that the daemon reaches POAP; codes stay good meanwhile',
      )

/** Nothing without a mail server, or from an earlier daemon. */
export const checkMail = (mail: AnswerOf<'GET /admin/status'>['mail'] | undefined): Finding[] => {
  if (!mail) return []
  return [
    mail.trouble === null
      ? ok('mail', 'the mail server answers, and accepts the account if one is set')
      : fail(
          'mail',
          mail.trouble,
          'check TAPCHIP_SMTP_URL, and that the daemon reaches that server; mails wait for a day meanwhile',
        ),
  ]
}
