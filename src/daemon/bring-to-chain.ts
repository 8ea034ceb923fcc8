import { devChainId } from './chain/keys/dev-keys.ts'
import type { Context } from './context.ts'
import { recordMissing } from './domain/deployments.ts'
import { contractsToldOtherwise } from './store/contracts.ts'
import { allNames } from './store/names.ts'
import { findTransaction } from './store/transactions.ts'

/**
 * Makes the chains what the store says: names, contracts, events and tokens that a seed brought. Waits for what is on
 * the embedded chain; any other takes the time that it takes.
 */
export async function bringToChain(ctx: Context): Promise<void> {
  const { chains, db, log } = ctx
  await chains.embedded?.setNames(await allNames(db.read))
  const ids = await recordMissing(ctx)
  for (const id of ids) {
    const row = await findTransaction(db.read, id)
    if (row?.chainId !== devChainId || !chains.embedded) continue
    const { name } = await chains.relayer.settled(id)
    if (name !== 'confirmed')
      log.error({ transaction: id, kind: row.kind, subject: row.subject }, 'a transaction failed')
  }
  if (ids.length > 0) log.info({ transactions: ids.length }, 'recorded what the chains were missing')
  await warnOfOtherUrls(ctx)
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
