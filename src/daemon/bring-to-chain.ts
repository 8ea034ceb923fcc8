import { devChainId } from './chain/dev-chain/dev-keys.ts'
import type { Context } from './context.ts'
import { recordMissing } from './domain/deployments/deployments.ts'
import { contractsToldOtherwise } from './store/contracts.ts'
import { allNames } from './store/names.ts'
import { findTransaction } from './store/transactions.ts'

// What takes longer goes on behind the ready line.
const patienceMs = 60_000
const lookMs = 10

/**
 * Makes the chains what the store says: names, contracts, events and tokens that a seed brought. Waits for what is on
 * the embedded chain; any other takes the time that it takes.
 */
export async function bringToChain(ctx: Context, stopped?: AbortSignal): Promise<void> {
  const { chains, db, log } = ctx
  await chains.embedded?.setNames(await allNames(db.read))
  const ids = await recordMissing(ctx)
  if (chains.embedded) await settledOn(ctx, ids, stopped)
  if (ids.length > 0) log.info({ transactions: ids.length }, 'recorded what the chains were missing')
  await warnOfOtherUrls(ctx)
}

/** Looks rather than listens: what waits behind a failure is given up with it, and nobody tells of that. */
async function settledOn({ db, log }: Context, ids: readonly number[], stopped?: AbortSignal): Promise<void> {
  const until = performance.now() + patienceMs
  for (const id of ids) {
    for (;;) {
      const row = await findTransaction(db.read, id)
      if (row?.chainId !== devChainId) break
      if (row.settledAt !== null) {
        const { kind, subject, reason, state } = row
        if (state !== 'confirmed')
          log.error({ transaction: id, kind, subject, reason }, 'a transaction failed')
        break
      }
      if (stopped?.aborted) return
      if (performance.now() > until) {
        log.error({ transaction: id, waiting: row.waiting }, 'the embedded chain is not done yet; going on')
        return
      }
      await new Promise((resolve) => setTimeout(resolve, lookMs))
    }
  }
}

/** On chains where that costs money, a new base URL is for the operator to tell: this one may be a try. */
async function warnOfOtherUrls({ chains, db, log, baseUrl }: Context): Promise<void> {
  for (const { id, isEmbedded } of chains.all) {
    const others = isEmbedded ? [] : await contractsToldOtherwise(db.read, id, baseUrl)
    for (const { symbol, address, serviceUrl } of others)
      log.warn(
        { chainId: id, symbol, address, told: serviceUrl, baseUrl },
        `the contract looks for its metadata at another base URL than this daemon has; if it moved for good: tapchip contracts set-url ${symbol}`,
      )
  }
}
