import { IdempotencyKeyTaken } from '../../chain/relayer/errors.ts'
import { claimGas } from '../../chain/relayer/phygital-claim.ts'
import type { KeyedRequest } from '../../chain/relayer/record-intent.ts'
import type { Actor } from '../../store/audit/audit.ts'
import { closeGroup, holdGroup, joinGroup } from '../../store/chain/groups.ts'
import { groupKind } from '../../store/chain/intents.ts'
import { holdChip } from '../../store/chips/chip-records.ts'
import type { Queries } from '../../store/database/database.ts'
import { recordForTeam } from '../chain/budget.ts'
import { resolveRecipient } from '../chain/recipients.ts'
import { DomainError, storeFailure } from '../errors/errors.ts'
import { chipOfTeam, isChip, type RowTarget } from './batch-row.ts'
import { checkMove, type Move } from './check-move.ts'
import { gasOfMints, groupSize } from './group-size.ts'
import {
  resolveTarget,
  settleTarget,
  type Target,
  type TransferDeps,
  tokenInfoOf,
  tokenOfTeam,
} from './target.ts'
import { isMinted, record } from './transfer.ts'

// Mints of a sheet share transactions, a group each. The relayer takes groups apart that the chain would refuse.

export interface GroupedMint {
  target: Target
  uid: string | undefined
  recipient: string
  move: Move
  contractAddress: string
  /** The number of mints that share a transaction. */
  size: number
  claim: KeyedRequest
}

/** @returns undefined if the row does not mint, or its contract mints no groups @throws DomainError as transferToken */
export async function groupedMint(
  deps: TransferDeps,
  teamId: number,
  { target: ref, recipient: to, claim }: { target: RowTarget; recipient: string; claim: KeyedRequest },
): Promise<GroupedMint | undefined> {
  const { target, recipient } = await resolved(deps, teamId, ref, to)
  const token = tokenInfoOf(target)
  const { contractAddress, contractStatus, contractTransactionId } = token
  if (contractTransactionId === null || contractStatus !== 'confirmed') return undefined
  const move = await checkMove(deps, token, recipient)
  // A receiving contract that needs much gas would take it from the others.
  if (move.call !== 'mintNFT' || move.gas > claimGas) return undefined
  const size = await groupSize(move.chain, contractAddress)
  const uid = isChip(ref) ? ref.uid : undefined
  return size < 2 ? undefined : { target, uid, recipient, move, contractAddress, size, claim }
}

async function resolved(deps: TransferDeps, teamId: number, ref: RowTarget, to: string) {
  const asker = { team: teamId }
  if (isChip(ref)) return resolveTarget(deps, asker, await chipOfTeam(deps, teamId, ref.uid), to)
  const token = await tokenOfTeam(deps, teamId, ref)
  return { target: { token }, recipient: await resolveRecipient(deps, asker, token.chainId, to) }
}

interface Caller {
  teamId: number
  actor: Actor
}

/** Records mints in groups. @returns those recorded; for others, each one alone shows why it cannot be */
export async function recordMints(
  deps: TransferDeps,
  caller: Caller,
  mints: readonly GroupedMint[],
): Promise<GroupedMint[]> {
  const recorded: GroupedMint[] = []
  const byContract = new Map<string, GroupedMint[]>()
  for (const mint of distinct(mints)) {
    const name = `${mint.move.chain.id}/${mint.contractAddress}`
    byContract.set(name, [...(byContract.get(name) ?? []), mint])
  }
  for (const ofContract of byContract.values()) {
    const size = ofContract[0]?.size ?? 1
    for (let from = 0; from < ofContract.length; from += size) {
      const group = ofContract.slice(from, from + size)
      if (group.length > 1) recorded.push(...(await recordGroup(deps, caller, group)))
    }
  }
  return recorded
}

/** Of two rows for one chip, the second moves what the first one mints. */
function distinct(mints: readonly GroupedMint[]): GroupedMint[] {
  const seen = new Set<string>()
  return mints.filter(({ target, uid }) => {
    const name = 'token' in target ? `token ${target.token.id}` : `chip ${uid}`
    return !seen.has(name) && seen.add(name)
  })
}

/** More would delay taps by more than a few milliseconds. */
const rowsPerWrite = 8

interface OpenGroup {
  id: number
  ids: readonly number[]
}

/** The relayer waits for an open group, though not for long: its daemon may have been killed. */
async function recordGroup(
  deps: TransferDeps,
  caller: Caller,
  group: readonly GroupedMint[],
): Promise<GroupedMint[]> {
  const recorded: GroupedMint[] = []
  let open: OpenGroup | undefined
  for (let from = 0; from < group.length; from += rowsPerWrite) {
    const mints = group.slice(from, from + rowsPerWrite)
    try {
      const added = await deps.db.write((trx) => extend(trx, deps, caller, open, mints, group.length))
      if (!added) break
      open = added.group
      recorded.push(...added.mints)
    } catch (error) {
      // For example, the budget has no room for all of them, or one was recorded before.
      const isRefused = error instanceof DomainError || error instanceof IdempotencyKeyTaken
      if (!isRefused && storeFailure(error) === undefined) throw error
      break
    }
  }
  if (open) await deps.db.write((trx) => closeGroup(trx, open?.id ?? 0))
  return recorded
}

/** @param size the number of mints that the group will have @returns undefined if it was signed before */
async function extend(
  trx: Queries,
  deps: TransferDeps,
  { teamId, actor }: Caller,
  open: OpenGroup | undefined,
  mints: readonly GroupedMint[],
  size: number,
): Promise<{ group: OpenGroup; mints: GroupedMint[] } | undefined> {
  const [first] = mints
  if (!first || (open && !(await holdGroup(trx, open.id)))) return undefined
  const ids = [...(open?.ids ?? [])]
  const recorded: GroupedMint[] = []
  for (const mint of mints) {
    const { target, uid, recipient, move, claim } = mint
    if (uid !== undefined) await holdChip(trx, uid)
    const token = await settleTarget(trx, deps, target, uid === undefined)
    if (await isMinted(trx, token)) continue
    const chip = uid === undefined ? {} : { chipUid: uid }
    // The group is charged.
    const alone = { ...move, chain: 'owed' as const }
    ids.push(await record(trx, deps, { token, recipient, move: alone, actor, idempotency: claim, ...chip }))
    recorded.push(mint)
  }
  if (recorded.length === 0) return open && { group: open, mints: [] }
  const { contractAddress, move } = first
  const chainId = move.chain.id
  const intent = {
    ...{ chainId, candidates: move.candidates },
    call: { builder: groupKind, args: {} },
    maxGas: gasOfMints(size, 1),
    kind: groupKind,
    subject: { contractAddress, chainId, tokens: size },
    teamId,
  }
  const id = open?.id ?? (await recordForTeam(trx, deps.clock, intent, move.chain))
  await joinGroup(trx, id, ids)
  return { group: { id, ids }, mints: recorded }
}
