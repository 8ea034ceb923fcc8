import { encodeFunctionData, getAddress, type Hex } from 'viem'
import { guestbookAbi } from '../../chain/artifacts/guestbook.ts'
import { phygitalAbi } from '../../chain/artifacts/phygital.ts'
import type { Chain } from '../../chain/chains.ts'
import { contractsWithOtherUrl, updateContract } from '../../store/contracts/contracts.ts'
import type { Queries } from '../../store/database/database.ts'
import { createdTokenIds } from '../../store/guestbook/guestbook-events.ts'
import type { ContractRow } from '../../store/schema/schema.ts'
import { maxPerAnnouncement } from '../chain/announcements.ts'
import { type ChargedTo, recordForTeam } from '../chain/budget.ts'
import type { BudgetClock } from '../time/time.ts'

interface Deps {
  clock: BudgetClock
  baseUrl: string
}

/** Token IDs are appended to this base URI. */
export const baseUriOf = (baseUrl: string, { chainId, address }: Pick<ContractRow, 'chainId' | 'address'>) =>
  `${baseUrl}/metadata/${chainId}/${address}/`

/** Records transactions for contracts whose metadata URL differs from this daemon's. */
export async function recordNewUrl(trx: Queries, deps: Deps, chain: Chain): Promise<number[]> {
  const ids: number[] = []
  // Pending contracts get theirs at a later start.
  for (const contract of await contractsWithOtherUrl(trx, chain.id, deps.baseUrl))
    if (contract.status === 'confirmed') ids.push(await recordServiceUrl(trx, deps, contract, 'owed'))
  return ids
}

/** Gas for setting a URL, or for announcing a hundred events. */
const gasOfUrl = 400_000

/** The contract's row is updated when the first transaction settles. @returns the ID of the first */
export async function recordServiceUrl(
  trx: Queries,
  { clock, baseUrl }: Deps,
  contract: ContractRow,
  counted: ChargedTo,
): Promise<number> {
  const { id: contractId, kind, symbol, address } = contract
  const send = (data: Hex, more: { kind: string; subject: Record<string, string | number> }) =>
    recordForTeam(
      trx,
      clock,
      {
        chainId: contract.chainId,
        // The contract exists, so its gas is estimated: it depends on the URL's length.
        call: { to: getAddress(address), data },
        maxGas: gasOfUrl,
        teamId: contract.teamId,
        ...more,
      },
      counted,
    )
  const data =
    kind === 'phygital'
      ? encodeFunctionData({
          abi: phygitalAbi,
          functionName: 'setBaseURI',
          args: [baseUriOf(baseUrl, contract)],
        })
      : encodeFunctionData({ abi: guestbookAbi, functionName: 'setServiceURL', args: [baseUrl, []] })
  const subject = { symbol, address, baseUrl }
  const id = await send(data, { kind: 'contract-url', subject })
  await updateContract(trx, contractId, { urlTransactionId: id })
  const tokenIds = (await createdTokenIds(trx, contractId)).map(BigInt)
  for (let at = 0; at < tokenIds.length; at += maxPerAnnouncement) {
    const args = [tokenIds.slice(at, at + maxPerAnnouncement)] as const
    await send(encodeFunctionData({ abi: guestbookAbi, functionName: 'refreshMetadata', args }), {
      kind: 'guestbook-refresh',
      subject: { symbol, address, events: args[0].length },
    })
  }
  return id
}
