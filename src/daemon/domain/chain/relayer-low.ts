import type { Logger } from 'pino'
import { BackgroundLoop } from '../../../values/background-loop.ts'
import type { Chains } from '../../chain/chains.ts'
import { markLowReported } from '../../store/chain/senders.ts'
import type { Db } from '../../store/database/database.ts'
import { type Clock, iso } from '../time/time.ts'
import type { WebhookEvents } from '../webhooks/events.ts'
import { typicalPrice } from './prices.ts'

interface Deps {
  db: Db
  clock: Pick<Clock, 'now'>
  log: Pick<Logger, 'warn' | 'error'>
  chains: Pick<Chains, 'all' | 'relayer'>
  webhookEvents: Pick<WebhookEvents, 'record' | 'subscribedTeams'>
  config: {
    /** Fewer transactions than this are reported. */
    relayerLow: number | 'off'
  }
}

const dayMs = 86_400_000
const pollMs = 30_000

/** Reports relayers whose money runs out, by the webhook `relayer.low`. */
export const relayerLowWatch = (deps: Deps): BackgroundLoop =>
  new BackgroundLoop({
    run: () => reportLowRelayers(deps),
    firstMs: pollMs,
    restMs: () => pollMs,
    failed: (err) => deps.log.error({ err }, 'low relayers could not be reported'),
  })

/** Only the daemon that sends for a relayer checks it. A chain that cannot be read is left for the next time. */
export async function reportLowRelayers(deps: Deps): Promise<void> {
  const { chains, config, webhookEvents } = deps
  if (config.relayerLow === 'off' || webhookEvents.subscribedTeams('relayer.low').length === 0) return
  for (const chain of chains.all) {
    const own = chains.relayer.status().filter(({ chainId }) => chainId === chain.id)
    const known = own.filter(({ balance, isStandby }) => balance !== undefined && !isStandby)
    const price = known.length === 0 ? 0n : await typicalPrice(chain).catch(() => 0n)
    if (price === 0n) continue
    for (const { address, balance = 0n } of known) {
      const transactionsLeft = Number(balance / price)
      if (transactionsLeft < config.relayerLow)
        await report(deps, { chainId: chain.id, address, balance: String(balance), transactionsLeft })
    }
  }
}

interface LowRelayer {
  chainId: number
  address: string
  /** Wei. */
  balance: string
  transactionsLeft: number
}

async function report({ db, clock, log, webhookEvents }: Deps, data: LowRelayer): Promise<void> {
  const at = iso(clock.now())
  const before = iso(clock.now() - dayMs)
  const isReported = await db.write(async (trx) => {
    if (!(await markLowReported(trx, { ...data, at, before }))) return false
    for (const teamId of webhookEvents.subscribedTeams('relayer.low'))
      await webhookEvents.record(trx, { teamId, type: 'relayer.low', at, data: { ...data } })
    return true
  })
  if (isReported) log.warn(data, 'a relayer has money for few more transactions')
}
