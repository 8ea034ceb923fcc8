import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { adminSocketName } from '../../../values/local-daemon.ts'
import { ApiError, DaemonUnreachable, elsewhere, isLoopback } from '../../client/errors.ts'
import { defineCommand } from '../../command/define.ts'
import { flag } from '../../command/options.ts'
import { type CliContext, createContext } from '../../context.ts'
import { CliError, type ExitCode, exitCodes } from '../../errors.ts'
import { shellQuoted } from '../../io/text.ts'
import {
  daemonAtSocket,
  installedServices,
  isRunning,
  isSameAddress,
  readRecords,
  recordIn,
  systemctl,
} from '../../local-daemon.ts'
import type { System } from '../../system.ts'
import { describeChain } from '../doctor/chains.ts'
import { describeServer } from '../doctor/daemon.ts'
import { describeReaders, readersHere } from '../doctor/readers.ts'
import { describeBudget } from '../teams.ts'
import { chooseDaemon, dataDirFlag, requestedDaemon, serviceOf, withServiceFallback } from './choose.ts'
import { type ServiceState, stateOf } from './systemd.ts'

export const status = defineCommand({
  name: 'status',
  summary: 'Show whether the daemon is running, and what it contains',
  examples: ['daemon status', 'daemon status --all', "daemon status --json | jq -r '.running'"],
  options: { ...dataDirFlag, all: flag('--all', 'List the daemons that daemon start started here') },
  run: async (ctx, { options }) => {
    if (options.all) return listAll(ctx)
    const choice = withServiceFallback(ctx, requestedDaemon(ctx, options.dataDir))
    // On another machine there is no process to look at, but the daemon can be asked.
    const isElsewhere = choice.url !== undefined && !isLoopback(new URL(choice.url).hostname)
    const record = isElsewhere ? undefined : chooseDaemon(ctx, choice)
    const { dataDir, isByAddress } = choice
    const url = record?.url
    if (url === undefined && dataDir !== undefined && !isByAddress) {
      if (ctx.io.json) await ctx.io.one({ running: false, dataDir }, () => ({}))
      throw new CliError(`No daemon is running on ${dataDir}.`, {
        exitCode: exitCodes.unreachable,
        advice: `Start it: tapchip daemon start --data-dir ${shellQuoted(dataDir)}`,
      })
    }
    const isOther =
      !isByAddress && url !== undefined && (dataDir !== undefined || !isSameAddress(url, ctx.config().url))
    const asked = isOther ? createContext(systemOf(ctx, { url, dataDir }), { ...ctx.flags, url }) : ctx
    try {
      await printStatus(asked)
      if (isElsewhere) ctx.io.note('It is not on this machine.')
      return exitCodes.done
    } catch (error) {
      if (!(error instanceof DaemonUnreachable)) throw error
      await reportServices(ctx)
      if (ctx.io.json) await ctx.io.one({ running: false, url: asked.config().url }, () => ({}))
      throw error
    } finally {
      if (isOther) asked.close()
    }
  },
})

const reportServices = async (ctx: CliContext): Promise<void> => {
  for (const service of installedServices(ctx.system)) {
    const { unit, active } = await stateOf(ctx, service)
    ctx.io.note(`The service ${unit} is ${active}: ${systemctl(service)} start ${unit} · tapchip daemon logs`)
  }
}

/** Uses the socket and the token in the data directory that was named. */
const systemOf = (
  { system }: CliContext,
  { url, dataDir }: { readonly url: string; readonly dataDir: string | undefined },
): System => {
  const socket = join(dataDir ?? '', adminSocketName)
  if (dataDir === undefined || !existsSync(socket) || !daemonAtSocket(socket).token) return system
  const env = { TAPCHIP_URL: url, TAPCHIP_ADMIN_URL: `unix:${socket}`, TAPCHIP_ADMIN_TOKEN: undefined }
  return { ...system, env: { ...system.env, ...env } }
}

const listAll = async (ctx: CliContext): Promise<ExitCode> => {
  const rows = readRecords(ctx.system).map((record) => {
    const { url, pid, dataDir, startedAt, started } = record
    return { running: isRunning(record), url, pid, dataDir, startedAt, flags: started.flags }
  })
  await ctx.io.list(
    rows,
    {
      RUNNING: (row) => row.running,
      URL: (row) => row.url,
      PID: (row) => row.pid,
      DATA: (row) => row.dataDir,
      STARTED: (row) => row.startedAt,
      FLAGS: (row) => row.flags.join(' '),
    },
    'No daemons. Start one: tapchip daemon start',
  )
  return exitCodes.done
}

/** Undefined: there is nothing to ask with, or an API key alone where administration has another address. */
const statusOf = async (ctx: CliContext) => {
  const { adminToken, hasCredential } = ctx.config()
  if (!hasCredential()) return undefined
  return ctx.call('GET /admin/status').catch((error: unknown) => {
    if (error instanceof ApiError && error.code === elsewhere && !adminToken()) return undefined
    throw error
  })
}

const printStatus = async (ctx: CliContext): Promise<void> => {
  const { url } = ctx.config()
  const instance = await statusOf(ctx)
  if (instance === undefined) {
    // Only the state needs no credential.
    const { status: code } = await (await ctx.client()).probe('/readyz')
    await ctx.io.one({ running: true, ready: code === 200, url }, (it) => ({
      Running: it.running,
      Ready: it.ready,
      Daemon: it.url,
    }))
    ctx.io.note(
      'To see more, log in (tapchip login), and set TAPCHIP_ADMIN_URL if administration has another address.',
    )
    return
  }
  const [chains, found] = await Promise.all([ctx.call('GET /admin/chains'), readersHere(ctx)])
  const readers = { list: found.list, problem: found.problem?.detail ?? null }
  // If it was reached by its socket, it is on this machine: show the address that `start` and `stop` use.
  const listens = ctx.config().adminUrl().startsWith('unix:') ? recordIn(instance.dataDir)?.url : undefined
  const installed = serviceOf(ctx, instance.dataDir)
  const service = installed === undefined ? null : await stateOf(ctx, installed)
  await ctx.io.one({ running: true, service, ...instance, chains, readers }, (it) => ({
    Running: it.running,
    ...(it.service === null ? {} : { Service: describeService(it.service) }),
    Daemon: listens ?? it.url,
    ...(listens === undefined || listens === it.url ? {} : { 'Chips lead to': it.url }),
    Administration: it.admin,
    Version: it.version,
    Pid: it.pid,
    'Up for': `${it.uptimeSeconds} s`,
    Data: it.dataDir,
    Ephemeral: it.ephemeral,
    Database: `${it.database.sizeBytes.toLocaleString('en-US')} bytes, schema ${it.schema}`,
    ...(it.database.server ? { Server: describeServer(it.database.server) } : {}),
    ...(it.upgrade === null
      ? {}
      : {
          'Migrated at this start': `from ${it.upgrade.from}; copy from before: ${it.upgrade.copy ?? 'none'}`,
        }),
    // An older daemon does not say.
    ...(it.audit
      ? { 'Audit log': `${it.audit.broken ? 'BROKEN, see tapchip doctor; ' : ''}head ${it.audit.head}` }
      : {}),
    Teams: it.counts.teams,
    'Key sets': it.counts.keySets,
    Chips: it.counts.chips,
    ...(it.counts.taps === null ? {} : { Taps: it.counts.taps }),
    ...Object.fromEntries(it.chains.map((chain) => [`Chain ${chain.chainId}`, describeChain(chain)])),
    Badges: it.badges.provider,
    ...Object.fromEntries(
      it.webhooks.failed.map(({ id, reason }) => [`Webhook ${id}`, `disabled: ${reason}`]),
    ),
    'Readers here': it.readers.problem ?? describeReaders(found),
    ...Object.fromEntries(
      it.budgets.map((budget) => [`Sent today by ${budget.team}`, describeBudget(budget)]),
    ),
    'Asking as': `${it.token.name} (${it.token.scopes.join(', ')})`,
  }))
}

const describeService = ({ scope, unit, enabled, active }: ServiceState): string =>
  `${unit} ${scope === 'user' ? 'of this user' : 'of the machine'}, ${active}, ${enabled ? 'enabled' : 'not enabled'}`
