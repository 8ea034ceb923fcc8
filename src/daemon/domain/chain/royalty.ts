import { encodeFunctionData, getAddress, zeroAddress } from 'viem'
import { phygitalAbi } from '../../chain/artifacts/phygital.ts'
import { findTransaction, supersededBy } from '../../store/chain/intents.ts'
import { updateContract } from '../../store/contracts/contracts.ts'
import type { Queries } from '../../store/database/database.ts'
import type { ContractRow } from '../../store/schema/schema.ts'

export type Royalty = Pick<ContractRow, 'royaltyBasisPoints' | 'royaltyReceiver'>

const kind = 'contract-royalty'

/** The transaction that sets a royalty; undefined: it is the same as before. */
export function newRoyalty(contract: ContractRow, before: ContractRow) {
  const { id: contractId, symbol, address, chainId, teamId, royaltyBasisPoints, royaltyReceiver } = contract
  if (royaltyBasisPoints === before.royaltyBasisPoints && royaltyReceiver === before.royaltyReceiver)
    return undefined
  const args = [getAddress(royaltyReceiver ?? zeroAddress), BigInt(royaltyBasisPoints ?? 0)] as const
  const data = encodeFunctionData({ abi: phygitalAbi, functionName: 'setRoyalty', args })
  const replaced = {
    royaltyBasisPoints: before.royaltyBasisPoints,
    royaltyReceiver: before.royaltyReceiver,
  }
  return {
    chainId,
    call: { to: getAddress(address), data },
    maxGas: 200_000,
    kind,
    topic: `royalty:${chainId}/${address}`,
    subject: { contractId, symbol, address, royaltyBasisPoints, royaltyReceiver, replaced },
    teamId,
  }
}

/** After a failure, the contract has the royalty that it had, unless a later transaction sets another. */
export async function restoreRoyalty(trx: Queries, transactionId: number): Promise<void> {
  const row = await findTransaction(trx, transactionId)
  if (row?.kind !== kind || (await supersededBy(trx, row))) return
  const { contractId, replaced }: { contractId: number; replaced: Royalty } = JSON.parse(row.subject)
  await updateContract(trx, contractId, replaced)
}
