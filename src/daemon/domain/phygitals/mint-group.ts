import { claimGas } from '../../chain/relayer/phygital-claim.ts'
import { groupKinds } from '../../store/chain/intents.ts'
import { holdChip } from '../../store/chips/chip-records.ts'
import { resolveRecipient } from '../chain/recipients.ts'
import type { GroupedMint } from '../chain/record-groups.ts'
import { chipOfTeam, isChip, type RowTarget } from './batch-row.ts'
import { checkMove } from './check-move.ts'
import { groupSize, mintManyGas } from './group-size.ts'
import { resolveTarget, settleTarget, type TransferDeps, tokenInfoOf, tokenOfTeam } from './target.ts'
import { isMinted, type Requester, record } from './transfer.ts'

/** @returns undefined if the row does not mint, or its contract mints no groups @throws DomainError as transferToken */
export async function groupedMint(
  deps: TransferDeps,
  { teamId, ...requester }: Requester & { teamId: number },
  { target: ref, recipient: to }: { target: RowTarget; recipient: string },
): Promise<GroupedMint | undefined> {
  const { target, recipient } = await resolved(deps, teamId, ref, to)
  const { contractAddress, contractStatus, contractTransactionId } = tokenInfoOf(target)
  if (contractTransactionId === null || contractStatus !== 'confirmed') return undefined
  const move = await checkMove(deps, tokenInfoOf(target), recipient)
  // A receiving contract that needs much gas would take it from the others.
  if (move.call !== 'mintNFT' || move.gas > claimGas) return undefined
  const size = await groupSize(move.chain, contractAddress)
  const uid = isChip(ref) ? ref.uid : undefined
  if (size < 2) return undefined
  const { chain, candidates } = move
  return {
    ...{ kind: groupKinds.phygital, chain, contractAddress, candidates, size, gas: mintManyGas },
    // Of two rows for one chip, the second moves what the first one mints.
    name: 'token' in target ? `token ${target.token.id}` : `chip ${uid}`,
    async record(trx) {
      if (uid !== undefined) await holdChip(trx, uid)
      const token = await settleTarget(trx, deps, target, uid === undefined)
      if (await isMinted(trx, token)) return undefined
      const chip = uid === undefined ? {} : { chipUid: uid }
      const alone = { ...move, chain: 'owed' as const }
      return record(trx, deps, { token, recipient, move: alone, ...requester, ...chip })
    },
  }
}

async function resolved(deps: TransferDeps, teamId: number, ref: RowTarget, to: string) {
  const asker = { team: teamId }
  if (isChip(ref)) return resolveTarget(deps, asker, await chipOfTeam(deps, teamId, ref.uid), to)
  const token = await tokenOfTeam(deps, teamId, ref)
  return { target: { token }, recipient: await resolveRecipient(deps, asker, token.chainId, to) }
}
