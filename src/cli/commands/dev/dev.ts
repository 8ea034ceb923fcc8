import { createServer } from 'node:net'
import { dirname, join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { isDaemonUrl } from '../../client/address.ts'
import type { Client } from '../../client/types.ts'
import { defineCommand } from '../../command/define.ts'
import { integer, text } from '../../command/options.ts'
import { defaultUrl } from '../../config.ts'
import type { CliContext } from '../../context.ts'
import { CliError, describeError, UsageError } from '../../errors.ts'
import { shellQuoted } from '../../io/text.ts'
import {
  administering,
  apiKeyOf,
  readSeed,
  Stop,
  startTemporaryDaemon,
  type TemporaryDaemon,
} from '../temporary-daemon.ts'
import { type Chip, chipsOf, namesOf, redirect, Taps } from './chips.ts'
import { receiveWebhooks } from './webhooks.ts'

/** The one that wallets know as "Localhost". */
const rpcPort = '8545'
/** Pages in development, and the wallets of browsers. */
const rpcOrigins =
  'http://localhost:*,http://127.0.0.1:*,https://localhost:*,chrome-extension://*,moz-extension://*'

export const verb = defineCommand({
  name: 'dev',
  summary: 'Run a daemon with demo data for an app in development',
  description:
    'Run a daemon in the foreground, with demo data and a chain of its own, and print what an app needs: the base URL, ' +
    'an API key, an admin token, contracts, the RPC URL, the secret of a webhook, and the URL of a tap. Each message of the ' +
    'webhook is printed, and passed on to --forward-to with its signature. Press Enter for the next tap; type the ' +
    'label or UID of a chip for a tap of that one. Its chain is open to pages on localhost. Here alone, a ref may be ' +
    'queried again within five seconds, as pages under development do. Ctrl-C ends it, and its data is gone.',
  examples: [
    'dev',
    'dev --redirect-url http://localhost:3000/tap --forward-to http://localhost:3000/webhooks',
    'dev --port 9000 --json',
  ],
  options: {
    port: integer(
      '--port <port>',
      'Where to listen; 0 picks a free one (default: 8484 if it is free)',
      [0, 65_535],
    ),
    redirectUrl: text('--redirect-url <url>', 'Where the taps of all chips lead: your app'),
    forwardTo: text('--forward-to <url>', 'Where webhooks go: your app. Without it, they are only printed'),
    seed: text('--seed <file>', 'A seed file instead of the demo data', 'file'),
  },
  run: async (ctx, { options }) => {
    const seed = options.seed === undefined ? demoSeed(ctx) : resolve(ctx.system.cwd, options.seed)
    const content = readSeed(seed)
    const { forwardTo } = options
    if (forwardTo !== undefined && !isDaemonUrl(forwardTo))
      throw new UsageError(
        `--forward-to: "${forwardTo}" is not an address.`,
        'It looks like http://localhost:3000/webhooks',
      )
    await ctx.beforeChange(`Would start tapchipd --ephemeral --dev --seed ${seed}`)
    const port = options.port ?? (await defaultPort(ctx))
    const { env } = ctx.system
    const stop = new Stop(ctx)
    const daemon = await startTemporaryDaemon(ctx, {
      flags: ['--dev', '--seed', seed, ...(port === undefined ? [] : ['--port', String(port)])],
      env: {
        TAPCHIP_DEV_RPC_PORT: env.TAPCHIP_DEV_RPC_PORT || rpcPort,
        // Refusals are a part of development, and would stand between the taps.
        TAPCHIP_LOG_LEVEL: env.TAPCHIP_LOG_LEVEL || 'warn',
        // The receiver is on this machine.
        TAPCHIP_WEBHOOKS_PRIVATE: 'on',
        TAPCHIP_DEV_RPC_ORIGINS: env.TAPCHIP_DEV_RPC_ORIGINS || rpcOrigins,
      },
      stop,
    })
    try {
      await administering(daemon, async (client) => {
        const { key: apiKey, team } = await apiKeyOf(client, content, 'dev')
        const chips = await chipsOf(client, team)
        const wirePrefix = env.TAPCHIP_WIRE_PREFIX || 'svc'
        if (options.redirectUrl !== undefined)
          await redirect({ url: daemon.url, apiKey, wirePrefix }, chips, options.redirectUrl)
        const webhooks = await receiveWebhooks(ctx, { client, team, forwardTo })
        const webhook = { secret: webhooks.secret, forwardTo }
        await printReady(ctx, { daemon, client, team, apiKey, wirePrefix, chips, webhook })
        const taps = new Taps(client, chips)
        if (chips.length > 0) await tap(ctx, taps)
        const forget = ctx.prompts.possible ? readKeys(ctx, daemon, taps) : () => undefined
        await daemon.ended
        forget()
        await webhooks.close()
      })
      if (stop.signal === undefined && !daemon.isEnding)
        throw new CliError('The daemon has ended by itself.', {
          advice: 'Its last output is above. Start it again: tapchip dev',
        })
    } finally {
      await daemon.end()
      stop.forget()
    }
  },
})

/** Comes with the package, beside the executables. */
const demoSeed = (ctx: CliContext): string =>
  join(dirname(ctx.system.daemonScript()), '..', 'fixtures', 'demo.json')

/** Undefined: the daemon's own settings say it. */
async function defaultPort(ctx: CliContext): Promise<number | undefined> {
  if (ctx.system.env.TAPCHIP_PORT || ctx.system.env.TAPCHIP_CONFIG) return undefined
  const { hostname, port } = new URL(defaultUrl)
  if (await isFree(hostname, Number(port))) return Number(port)
  ctx.io.note(`Port ${port} is in use, so this daemon has another one. To choose it: --port N`)
  return 0
}

const isFree = (host: string, port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer().once('error', () => resolve(false))
    server.listen(port, host, () => server.close(() => resolve(true)))
  })

async function tap(ctx: CliContext, taps: Taps, name?: string): Promise<void> {
  const tap = await taps.next(name)
  await ctx.io.line({ event: 'tap', ...tap }, () => `Tap of ${tap.label ?? tap.uid}: ${tap.url}`)
}

/** Enter is the next tap; a label or UID before it chooses the chip. @returns stops reading */
function readKeys(ctx: CliContext, daemon: TemporaryDaemon, taps: Taps): () => void {
  ctx.io.note('Press Enter for the next tap, or type a chip and Enter. Ctrl-C ends it.')
  const lines = createInterface({ input: ctx.system.stdin })
  lines.on('line', (line) => {
    tap(ctx, taps, line.trim() || undefined).catch((error: unknown) =>
      ctx.io.warn(describeError(error).lines.join('\n')),
    )
  })
  const onClose = () => void daemon.end()
  lines.once('close', onClose)
  return () => lines.off('close', onClose).close()
}

interface Ready {
  readonly daemon: TemporaryDaemon
  readonly client: Client
  readonly team: string
  readonly apiKey: string
  readonly wirePrefix: string
  readonly chips: readonly Chip[]
  readonly webhook: { readonly secret: string; readonly forwardTo: string | undefined }
}

/** Prints what an app needs to know of the daemon. */
async function printReady(
  ctx: CliContext,
  { daemon, client, team, apiKey, wirePrefix, chips, webhook }: Ready,
): Promise<void> {
  const { url, admin: adminUrl, adminToken, chains } = daemon
  const contracts = (await client.call('GET /admin/contracts', { query: { team } })).map(
    ({ symbol, kind, chainId, address }) => ({ symbol, kind, chainId, address }),
  )
  const apiKeyHeader = `x-${wirePrefix}-api-key`
  const ready = {
    event: 'ready',
    url,
    apiKeyHeader,
    apiKey,
    team,
    adminUrl,
    adminToken,
    chains,
    contracts,
    webhookSecret: webhook.secret,
  }
  await ctx.io.line(ready, () =>
    table([
      ['Base URL', url],
      ['API key', `${apiKeyHeader}: ${apiKey}`, `of the team ${team}`],
      ['Admin token', adminToken, adminUrl === url ? undefined : `for ${adminUrl}`],
      ...contracts.map(({ symbol, address, chainId }) => [
        'Contract',
        `${symbol} ${address} on chain ${chainId}`,
      ]),
      ...Object.entries(chains).map(([id, rpc]) => ['RPC URL', rpc, `of chain ${id}`]),
      [
        'Webhooks',
        webhook.secret,
        webhook.forwardTo === undefined ? 'printed here' : `passed on to ${webhook.forwardTo}`,
      ],
      ...(chips.length === 0 ? [] : [['Chips', namesOf(chips)]]),
    ]),
  )
  const variables = { TAPCHIP_URL: url, TAPCHIP_API_KEY: apiKey, TAPCHIP_ADMIN_TOKEN: adminToken }
  const assigned = Object.entries(variables).map(([name, value]) => `${name}=${shellQuoted(value)}`)
  ctx.io.hint(`For other commands: export ${assigned.join(' ')}`)
}

const table = (rows: readonly (readonly (string | undefined)[])[]): string =>
  rows
    .map(
      ([name = '', value = '', more]) =>
        `${name.padEnd(12)} ${value}${more === undefined ? '' : ` (${more})`}`,
    )
    .join('\n')
