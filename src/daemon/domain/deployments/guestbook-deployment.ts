import { encodeFunctionData, type Hex } from 'viem'
import { guestbookFactoryAbi } from '../../chain/artifacts/guestbook-factory.ts'
import type { Chain } from '../../chain/chains.ts'
import { factoryDeployment, guestbookAddress, guestbookFactory } from '../../chain/guestbook-place.ts'
import { type Deed, recordIntent } from '../../chain/relayer/record-intent.ts'
import type { Queries } from '../../store/database.ts'
import type { ContractRow } from '../../store/schema.ts'
import { setSettingOnce, setting } from '../../store/settings.ts'
import { findTransaction, listTransactions } from '../../store/transactions.ts'
import type { Clock } from '../time.ts'

// Limits, not what is paid: behind a factory that is not mined yet no node can estimate. See contracts/README.md.
const gas = { factory: 4_500_000, clone: 400_000, slot: 25_000 }

/** How a guestbook is deployed, and where it will be. */
export function guestbookDeed(serviceURL: string, chain: Chain, { name, symbol }: ContractRow, salt: Hex) {
  const deployment = { salt, name, symbol, serviceURL, admin: chain.relayer, minter: chain.relayer }
  const data = encodeFunctionData({ abi: guestbookFactoryAbi, functionName: 'deploy', args: [deployment] })
  const deed: Deed = { to: guestbookFactory, data }
  const slots = [name, symbol, serviceURL].map((text) => Math.ceil(Buffer.byteLength(text) / 32) + 1)
  const gasHint = gas.clone + gas.slot * slots.reduce((sum, count) => sum + count, 0)
  return { deed, address: guestbookAddress(deployment), gasHint }
}

/** Once a chain: all guestbooks are clones of one implementation. */
export async function recordFactory(trx: Queries, { clock }: { clock: Clock }, chain: Chain): Promise<void> {
  const key = `guestbookFactory:${chain.id}`
  if (await isOnItsWay(trx, chain.id, await setting(trx, key))) return
  const id = await recordIntent(trx, {
    chainId: chain.id,
    signer: 'relayer',
    deed: factoryDeployment,
    gasHint: gas.factory,
    kind: 'guestbook-factory',
    subject: { address: guestbookFactory },
    teamId: null,
    now: clock.now(),
  })
  await setSettingOnce(trx, key, String(id))
}

/** A factory that never came, or that somebody cancelled, is deployed anew: calls to where nothing is would seem to go well. */
async function isOnItsWay(trx: Queries, chainId: number, first: string | undefined): Promise<boolean> {
  if (first === undefined) return false
  const isGone = (row: { state: string } | undefined) =>
    row === undefined || row.state === 'cancelled' || row.state === 'reverted'
  if (!isGone(await findTransaction(trx, Number(first)))) return true
  const [last] = await listTransactions(trx, { chainId, kind: 'guestbook-factory', limit: 1 })
  return !isGone(last)
}
