import { parseObject } from '../../../values/json.ts'
import { ApiError, DaemonUnreachable, elsewhere, type ServerTrouble, troubleIn } from '../../client/errors.ts'
import type { AnswerOf } from '../../client/types.ts'
import type { CliContext } from '../../context.ts'
import { counted } from '../../io/text.ts'
import { checkChains } from './chains.ts'
import { checkApiKey, checkIdentity } from './credential.ts'
import { type Finding, fail, ok, warn } from './finding.ts'
import { checkBackup, checkBadges, checkMail, checkRefusedTaps } from './service.ts'

/** Network delay does not explain more than a minute. */
const maxSkewMs = 60_000

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** @param origin where the address comes from @param isQuick leaves out what reads the whole database, and holds taps up */
export const checkDaemon = async (
  ctx: CliContext,
  origin = ctx.config().origin,
  isQuick = false,
): Promise<Finding[]> => {
  const { url } = ctx.config()
  const client = await ctx.client()
  try {
    const health = await client.probe('/healthz')
    if (health.status !== 200) {
      return [
        fail(
          'daemon',
          `${url} answers ${health.status} (address from ${origin})`,
          'check the address: tapchip context show',
        ),
      ]
    }
    const ready = await client.probe('/readyz')
    const answer = parseObject(ready.text)
    const trouble = troubleIn(answer)
    return [
      ok('daemon', `${url} (address from ${origin})`),
      ready.status === 200
        ? ok('ready', 'it accepts requests')
        : fail('ready', unready(ready.status, answer?.message), readyFix(answer?.code, trouble), trouble),
      checkClock(ctx, health.date),
      ready.status === 503 && ready.text.includes('"store_unavailable"')
        ? warn('API key', 'not checked, since the daemon is not ready', 'run this again once it is')
        : await checkApiKey(ctx),
      ...(await checkAdmin(ctx, isQuick)),
    ]
  } catch (error) {
    if (!(error instanceof DaemonUnreachable)) throw error
    const fix = error.advice.replace(/^[A-Z]/, (letter) => letter.toLowerCase())
    const text = `${error.message.replace(/\.$/, '')} (address from ${origin})`
    const inside = await throughSocket(ctx, isQuick)
    return inside.length === 0
      ? [fail('daemon', text, fix)]
      : [fail('daemon', text, 'it is running on this machine: check the name and the route to it'), ...inside]
  }
}

const unready = (status: number, message: unknown): string =>
  typeof message === 'string' ? message.replace(/\.$/, '') : `/readyz answers ${status}`

const serverFixes: Readonly<Record<string, (server: string) => string>> = {
  no_room: (server) => `raise max_connections of ${server}, or lower TAPCHIP_DATABASE_CONNECTIONS`,
  read_only: (server) => `see whether ${server} is a standby, or was set to default_transaction_read_only`,
  refused: (server) =>
    `check user, password and database in TAPCHIP_DATABASE_URL, and pg_hba.conf of ${server}; its log says why`,
  silent: (server) => `look at ${server}, and at the network to it`,
  down: (server) => `start the server at ${server}, or correct TAPCHIP_DATABASE_URL`,
}

const serverFix = (trouble: ServerTrouble | undefined): string =>
  (trouble && serverFixes[trouble.reason]?.(trouble.server)) ?? 'see why: tapchip daemon logs'

const readyFix = (code: unknown, trouble: ServerTrouble | undefined): string =>
  code === 'chain_unavailable' ? 'see what waits: tapchip transactions list --waiting' : serverFix(trouble)

/** A daemon of this machine whose public address does not lead here can still be asked. */
const throughSocket = async (ctx: CliContext, isQuick: boolean): Promise<Finding[]> => {
  const { adminUrl, adminToken } = ctx.config()
  if (!adminUrl().startsWith('unix:') || !adminToken()) return []
  try {
    await ctx.call('GET /admin/status')
  } catch (error) {
    if (error instanceof DaemonUnreachable) return []
  }
  return checkAdmin(ctx, isQuick)
}

const checkClock = (ctx: CliContext, date: string | undefined): Finding => {
  const daemonTime = date === undefined ? Number.NaN : Date.parse(date)
  const skew = Math.abs(ctx.now().getTime() - daemonTime)
  if (Number.isNaN(skew)) return warn('clock', 'the daemon reported no time', 'no fix is known')
  return skew <= maxSkewMs
    ? ok('clock', 'the daemon and this machine agree')
    : fail(
        'clock',
        `${Math.round(skew / 1000)} s apart from the daemon`,
        'set both clocks with NTP: timedatectl set-ntp true',
      )
}

const checkAdmin = async (ctx: CliContext, isQuick: boolean): Promise<Finding[]> => {
  const { adminUrl, adminToken, hasCredential } = ctx.config()
  const isKey = !adminToken()
  if (!hasCredential())
    return [warn('admin token', 'none', 'set TAPCHIP_ADMIN_TOKEN, or tapchip login --admin')]
  let status: AnswerOf<'GET /admin/status'>
  try {
    status = await ctx.call('GET /admin/status', { query: isQuick ? {} : { check: true } })
  } catch (error) {
    if (error instanceof ApiError && (error.code === elsewhere || error.code === 'forwarded_refused'))
      return [
        (isKey ? warn : fail)(
          'administration',
          `not at ${adminUrl()}`,
          'set TAPCHIP_ADMIN_URL to its address (run tapchip daemon status there)',
        ),
      ]
    // What is wrong with the key is told already.
    if (error instanceof ApiError && error.statusCode === 401 && isKey) return []
    if (error instanceof ApiError && error.statusCode === 503)
      return [fail('database', messageOf(error).replace(/\.$/, ''), serverFix(error.trouble), error.trouble)]
    return [fail('admin token', messageOf(error), 'set TAPCHIP_ADMIN_TOKEN, or tapchip login --admin')]
  }
  const { database, disk, counts, version, warnings, admin } = status
  const cliVersion = __TAPCHIP_VERSION__
  return [
    ...(isKey ? [] : [await checkIdentity(ctx, 'adminToken')]),
    ok('administration', describeAdminAddress(ctx, admin)),
    checkDatabase(database, isQuick || status.audit === null),
    checkDisk(disk, database.server !== null && database.server !== undefined),
    ...checkBackup(ctx, status),
    version === cliVersion
      ? ok('version', version)
      : warn('version', `the daemon is ${version}, this is ${cliVersion}`, 'update the older one'),
    // A credential for one team is told nothing of the log of all.
    ...(status.audit === null ? [] : [checkAudit(status.audit)]),
    checkBadges(status.badges),
    ...checkMail(status.mail),
    ...status.webhooks.failed.map(({ id, reason }) =>
      warn('webhooks', `webhook ${id} is disabled: ${reason}`, `tapchip webhooks edit ${id} --enable`),
    ),
    await checkKeySets(ctx, counts.keySets),
    ...(await checkRefusedTaps(ctx)),
    ...warnings.map((detail) =>
      detail.startsWith('The clock ')
        ? warn('clock', detail, 'set the clock; the daemon keeps running')
        : warn('settings', detail, 'correct it and restart the daemon'),
    ),
    ...(await checkChains(ctx)),
  ]
}

/** An older daemon does not say. */
const checkAudit = (audit: AnswerOf<'GET /admin/status'>['audit'] | undefined): Finding => {
  if (!audit) return warn('audit log', 'this daemon does not monitor it', 'update the daemon')
  const { broken, entries, head } = audit
  if (!broken) return ok('audit log', `${counted(entries, 'entry', 'entries')}, head ${head.slice(0, 16)}`)
  return fail(
    'audit log',
    `it ends at entry ${broken.lastId}, and does not continue from entry ${broken.expected} as the daemon recorded it: somebody edited the database, or replaced it with an earlier one`,
    'compare it with a backup or an export: tapchip audit verify',
  )
}

/** Adds the address that this command used, if it differs: a socket or a tunnel. */
const describeAdminAddress = (ctx: CliContext, admin: string): string => {
  const here = ctx.config().adminUrl()
  return here === admin ? `at ${admin}` : `at ${admin}; from here ${here}`
}

const checkKeySets = async (ctx: CliContext, count: number): Promise<Finding> => {
  if (count === 0) return warn('key sets', 'none: no tap can be verified', 'tapchip key-sets create --help')
  const shared = (await ctx.call('GET /admin/key-sets')).filter((set) => set.diversification === 'none')
  if (shared.length === 0) return ok('key sets', String(count))
  const ids = shared.map(({ id }) => id).join(', ')
  return warn(
    'key sets',
    `${count}; with the derivation none: ${ids}. All chips of such a set share one key, and anyone who records the setup of a blank chip learns it`,
    'set new chips up with a key set of the derivation an10922',
  )
}

/** An earlier daemon does not report it. */
export const describeServer = (server: NonNullable<AnswerOf<'GET /admin/status'>['database']['server']>) => {
  const sum = (of: 'inUse' | 'waiting' | 'max') => server.pools.reduce((all, pool) => all + pool[of], 0)
  const standbys = server.standbys.map(({ name, syncState, lagSeconds }) =>
    [name, syncState, lagSeconds === null ? '' : `${lagSeconds} s behind`].filter((word) => word).join(' '),
  )
  return [
    `PostgreSQL ${server.version} at ${server.name}`,
    `answers in ${server.latencyMs} ms`,
    `${sum('inUse')} of ${sum('max')} connections in use, ${sum('waiting')} waiting`,
    ...(standbys.length === 0 ? [] : [`standbys: ${standbys.join('; ')}`]),
  ].join(', ')
}

/** A backup, a state of the chain or a batch of taps soon takes more. */
const fewBytes = 256 * 1024 * 1024

const checkDisk = (
  { freeBytes, refusedWrites, state }: AnswerOf<'GET /admin/status'>['disk'],
  hasServer: boolean,
): Finding => {
  const free = freeBytes === null ? 'unknown' : `${freeBytes.toLocaleString('en-US')} bytes free`
  const refused = refusedWrites > 0 ? `, ${counted(refusedWrites, 'write')} refused since the start` : ''
  const fix = 'free some space on the disk of the data directory; the daemon continues automatically'
  if (state === 'full' && hasServer)
    return fail(
      'disk',
      `full, of the database server or here (${free})${refused}`,
      'free some space there; the daemon continues automatically',
    )
  if (state === 'full') return fail('disk', `full, ${free}${refused}`, fix)
  if (state === 'failing')
    return fail('disk', `cannot be written, ${free}${refused}`, 'check the system log and the mounts')
  return freeBytes !== null && freeBytes < fewBytes
    ? warn('disk', `nearly full, ${free}${refused}`, fix)
    : ok('disk', `${free}${refused}`)
}

const maxLagSeconds = 30

/** @param isUnread it was not read as a whole, for a caller for one team or because it takes long */
const checkDatabase = (
  { integrity, sizeBytes, server }: AnswerOf<'GET /admin/status'>['database'],
  isUnread: boolean,
): Finding => {
  const size = `${sizeBytes.toLocaleString('en-US')} bytes`
  if (server) {
    const text = `${describeServer(server)}, ${size}`
    const late = server.standbys.find(({ lagSeconds }) => (lagSeconds ?? 0) > maxLagSeconds)
    if (late)
      return warn('database', `${text}; ${late.name} is ${late.lagSeconds} s behind`, 'look at that standby')
    return server.pools.some(({ waiting }) => waiting > 0)
      ? warn('database', `${text}; requests wait for connections`, 'look at the load of the server')
      : ok('database', text)
  }
  if (integrity === null && isUnread) return ok('database', `it answers, ${size}`)
  if (integrity === 'ok') return ok('database', `intact, ${size}`)
  return fail('database', integrity ?? 'it was not checked', 'stop the daemon and restore a backup')
}
