import type { FastifyInstance } from 'fastify'
import { createBackup } from '../../domain/backup/backup.ts'
import { daemonStatus } from '../../domain/operations/status.ts'
import { bindAll } from '../../http/bind.ts'
import { proxyWarnings } from '../../http/forwarded.ts'
import type { Context } from '../../process/context.ts'
import { rollRootToken } from '../../process/root-token.ts'
import { startWarnings } from '../../process/start-warnings.ts'
import { version } from '../../process/version.ts'

const badgesStatus = async (
  { badges: { providers } }: Pick<Context, 'badges'>,
  check: boolean,
): Promise<{ provider: 'embedded' | 'poap'; trouble: string | null }> => {
  const { current, poap = current } = providers
  // Existing events continue at POAP, even if new ones are embedded.
  return { provider: current.name, trouble: check ? ((await poap.trouble()) ?? null) : null }
}

const mailStatus = async (
  { mailing }: Pick<Context, 'mailing'>,
  check: boolean,
): Promise<{ trouble: string | null } | null> =>
  mailing ? { trouble: check ? ((await mailing.server.check()) ?? null) : null } : null

const warningsOf = async (ctx: Context): Promise<string[]> => [
  ...startWarnings(ctx.config),
  ...(await proxyWarnings(ctx.metrics)),
  ...ctx.clock.warnings(),
  ...ctx.fleet.warnings(),
]

export function daemonRoutes(app: FastifyInstance, ctx: Context): void {
  bindAll(app, ctx, {
    'GET /admin/status': async ({ actor, holder, query }) => {
      const status = await daemonStatus(ctx, actor, query.check ?? false)
      return {
        version,
        pid: process.pid,
        url: ctx.baseUrl,
        admin: ctx.adminAddress,
        dataDir: ctx.config.dataDir,
        ephemeral: ctx.config.ephemeral,
        upgrade: ctx.upgrade ?? null,
        token: { name: holder.name, scopes: [...holder.scopes] },
        badges: await badgesStatus(ctx, query.check ?? false),
        mail: await mailStatus(ctx, query.check ?? false),
        warnings: actor.ofTeam === undefined ? await warningsOf(ctx) : [],
        ...status,
      }
    },
    'POST /admin/root-token/roll': async ({ actor }) => ({ path: await rollRootToken(ctx, actor) }),
    'POST /admin/backup': async ({ body, actor }) => {
      const { warning, ...backup } = await createBackup(ctx, actor, body.passphrase)
      return { ...backup, ...(warning === undefined ? {} : { warning }) }
    },
  })
}
