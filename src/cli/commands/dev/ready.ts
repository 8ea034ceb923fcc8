import type { Client } from '../../client/types.ts'
import type { CliContext } from '../../context.ts'
import { shellQuoted } from '../../io/text.ts'
import type { TemporaryDaemon } from '../temporary-daemon.ts'
import { type Chip, namesOf } from './chips.ts'

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
export async function printReady(
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
