import { readdirSync, statSync } from 'node:fs'
import { arch, cpus, version as osVersion, release, totalmem } from 'node:os'
import { basename, join } from 'node:path'
import { shownBox } from '../../batch/boxes.ts'
import type { ElementOf } from '../../client/types.ts'
import { readConfigFile } from '../../config-file.ts'
import type { CliContext } from '../../context.ts'
import {
  installedServices,
  isRunning,
  placesOf,
  readRecords,
  readStarted,
  readUnit,
} from '../../local-daemon.ts'
import { listBoxes } from '../../nfc/saved-box.ts'
import { dataDir } from '../../system.ts'
import { recentLines } from '../daemon/logs.ts'
import { stateOf } from '../daemon/systemd.ts'
import { checkDaemon } from '../doctor/daemon.ts'
import { checkMachine } from '../doctor.ts'
import { secretsIn } from './scrub.ts'

const maxCounts = { lines: 500, audit: 50, batches: 50, files: 200 }

/** Each part by itself: a report is made above all when something does not work. */
export const sections: Readonly<Record<string, (ctx: CliContext) => unknown>> = {
  versions: async (ctx) => ({
    tapchip: __TAPCHIP_VERSION__,
    commit: (typeof __TAPCHIP_COMMIT__ === 'string' && __TAPCHIP_COMMIT__) || null,
    tapchipd: (await ctx.call('GET /admin/status').catch(() => undefined))?.version ?? null,
    node: process.version,
  }),
  platform: () => ({
    os: `${process.platform} ${release()}`,
    build: osVersion(),
    architecture: arch(),
    processors: cpus().length,
    memoryBytes: totalmem(),
  }),
  settings: (ctx) => settingsOf(ctx),
  daemon: async (ctx) => {
    const { token: _, budgets: __, ...status } = await ctx.call('GET /admin/status')
    return status
  },
  chains: async (ctx) =>
    (await ctx.call('GET /admin/chains')).map(
      ({
        relayer: _,
        signVerifier: __,
        rpcUrl: ___,
        relayers = [],
        ...chain
      }: Partial<ElementOf<'GET /admin/chains'>>) => ({
        ...chain,
        relayers: relayers.map(({ address: ____, ...relayer }) => relayer),
      }),
    ),
  doctor: async (ctx) => (await Promise.all([checkMachine(ctx), checkDaemon(ctx)])).flat(),
  services: (ctx) =>
    Promise.all(
      installedServices(ctx.system).map(async (service) => ({
        ...(await stateOf(ctx, service)),
        unitFile: readUnit(service.unitPath)?.split('\n') ?? null,
        environment: namesIn(readUnit(service.envFile) ?? ''),
      })),
    ),
  daemons: (ctx) =>
    readRecords(ctx.system).map(({ started: { flags, logFile }, instance: _, ...record }) => ({
      ...{ ...record, logFile, flags, running: isRunning(record) },
    })),
  files: (ctx) => Object.fromEntries(dataDirs(ctx).map((dir) => [dir, filesIn(dir)])),
  audit: async (ctx) =>
    (await ctx.call('GET /admin/audit', { query: { limit: maxCounts.audit } })).map(
      ({ at, action, requestId, batch }) => ({ at, action, requestId, batch }),
    ),
  /** Boxes of chips kept on this machine. */
  batches: (ctx) =>
    listBoxes(ctx.system, () => undefined)
      .slice(0, maxCounts.batches)
      .map(shownBox),
  log: (ctx) => recentLines(ctx, maxCounts.lines),
}

/** Secrets of this machine that this user can read: each is removed wherever it stands. */
export const secretsOf = (ctx: CliContext): string[] => {
  const { system } = ctx
  const scopes = ['user', 'system'] as const
  const files = [
    ...scopes.map((scope) => readUnit(placesOf(system, scope).envFile) ?? ''),
    ...readRecords(system).flatMap((record) =>
      isRunning(record) ? [(readUnit(`/proc/${record.pid}/environ`) ?? '').replaceAll('\0', '\n')] : [],
    ),
  ]
  const savedSecrets = dataDirs(ctx).flatMap((dir) =>
    ['admin.token', 'data.key'].flatMap((name) => (readUnit(join(dir, name)) ?? '').trim() || []),
  )
  const stored = Object.values(contextsOf(ctx)).flatMap(({ apiKey, adminToken }) => [
    apiKey ?? '',
    adminToken ?? '',
  ])
  return [
    ...secretsIn(system.env),
    ...files.flatMap((text) => secretsIn(variablesIn(text))),
    ...savedSecrets,
    ...stored,
  ]
}

const contextsOf = ({ system }: CliContext) => {
  try {
    return readConfigFile(system).contexts
  } catch {
    return {}
  }
}

const settingsOf = (ctx: CliContext): object => {
  const { url, origin, contextName, isProtected, apiKeyOrigin, adminUrl, adminTokenOrigin } = ctx.config()
  return {
    url,
    origin,
    context: contextName ?? null,
    isProtected,
    contexts: Object.keys(contextsOf(ctx)).length,
    administration: adminUrl(),
    credentials: { api: apiKeyOrigin ?? null, admin: adminTokenOrigin() ?? null },
    variables: Object.keys(ctx.system.env).filter((name) => name.startsWith('TAPCHIP_')),
  }
}

const variablesIn = (text: string): Record<string, string> =>
  Object.fromEntries(
    [...text.matchAll(/^\s*(TAPCHIP_\w+)=(.*)$/gm)].map(([, name = '', value = '']) => [
      name,
      value.trim().replace(/^(["'])(.*)\1$/, '$2'),
    ]),
  )
const namesIn = (text: string): string[] => Object.keys(variablesIn(text))

const dataDirs = ({ system }: CliContext): string[] => [
  ...new Set([
    ...readStarted(system).map((started) => started.dataDir),
    ...installedServices(system).flatMap((service) => service.dataDir ?? []),
    dataDir(system),
  ]),
]

const filesIn = (dir: string): unknown => {
  try {
    return [dir, join(dir, 'backups')].flatMap((folder) =>
      namesOf(folder).map((name) => {
        const { size, mode, mtime } = statSync(join(folder, name))
        const path = folder === dir ? name : `${basename(folder)}/${name}`
        return { path, size, mode: (mode & 0o777).toString(8), changedAt: mtime.toISOString() }
      }),
    )
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

const namesOf = (folder: string): string[] => {
  try {
    return readdirSync(folder).sort().slice(0, maxCounts.files)
  } catch {
    return []
  }
}
