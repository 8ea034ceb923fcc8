import type { Chain } from '../../chain/chains.ts'
import { IdempotencyKeyTaken } from '../../chain/relayer/errors.ts'
import { closeGroup, holdGroup, joinGroup } from '../../store/chain/groups.ts'
import type { groupKinds } from '../../store/chain/intents.ts'
import type { Db, Queries } from '../../store/database/database.ts'
import { DomainError, storeFailure } from '../errors/errors.ts'
import type { BudgetClock } from '../time/time.ts'
import { recordForTeam } from './budget.ts'
import { type GroupGas, gasOfMints } from './group-size.ts'

// Mints of a sheet share transactions, a group each. The relayer takes groups apart that the chain would refuse.

export interface GroupedMint {
  kind: (typeof groupKinds)[keyof typeof groupKinds]
  chain: Chain
  contractAddress: string
  candidates: readonly string[] | undefined
  /** Of two with one name, the second cannot be recorded with the first. */
  name?: string
  /** The number of mints that share a transaction. */
  size: number
  gas: GroupGas
  /** Records the mint, charged to its group. @returns undefined if it has to be sent alone */
  record(trx: Queries): Promise<number | undefined>
}

type Deps = { db: Db; clock: BudgetClock }

/** Records mints in groups. @returns those recorded; for others, each one alone shows why it cannot be */
export async function recordMints<M extends GroupedMint>(
  deps: Deps,
  teamId: number,
  mints: readonly M[],
): Promise<M[]> {
  const recorded: M[] = []
  const byContract = new Map<string, M[]>()
  for (const mint of distinct(mints)) {
    const name = `${mint.chain.id}/${mint.contractAddress}`
    byContract.set(name, [...(byContract.get(name) ?? []), mint])
  }
  for (const ofContract of byContract.values()) {
    const size = ofContract[0]?.size ?? 1
    for (let from = 0; from < ofContract.length; from += size) {
      const group = ofContract.slice(from, from + size)
      if (group.length > 1) recorded.push(...(await recordGroup(deps, teamId, group)))
    }
  }
  return recorded
}

function distinct<M extends GroupedMint>(mints: readonly M[]): M[] {
  const seen = new Set<string>()
  return mints.filter(({ name }) => name === undefined || (!seen.has(name) && seen.add(name)))
}

/** More would delay taps by more than a few milliseconds. */
const rowsPerWrite = 8

interface OpenGroup {
  id: number
  ids: readonly number[]
}

/** The relayer waits for an open group, though not for long: its daemon may have been killed. */
async function recordGroup<M extends GroupedMint>(
  deps: Deps,
  teamId: number,
  group: readonly M[],
): Promise<M[]> {
  const recorded: M[] = []
  let open: OpenGroup | undefined
  for (let from = 0; from < group.length; from += rowsPerWrite) {
    const mints = group.slice(from, from + rowsPerWrite)
    try {
      const added = await deps.db.write((trx) => extend(trx, deps, teamId, open, mints, group.length))
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
async function extend<M extends GroupedMint>(
  trx: Queries,
  { clock }: Deps,
  teamId: number,
  open: OpenGroup | undefined,
  mints: readonly M[],
  size: number,
): Promise<{ group: OpenGroup; mints: M[] } | undefined> {
  const [first] = mints
  if (!first || (open && !(await holdGroup(trx, open.id)))) return undefined
  const ids = [...(open?.ids ?? [])]
  const recorded: M[] = []
  for (const mint of mints) {
    const id = await mint.record(trx)
    if (id === undefined) continue
    ids.push(id)
    recorded.push(mint)
  }
  if (recorded.length === 0) return open && { group: open, mints: [] }
  const { kind, contractAddress, candidates, chain, gas } = first
  const chainId = chain.id
  const intent = {
    ...{ chainId, candidates },
    call: { builder: kind, args: {} },
    maxGas: gasOfMints(gas, size, 1),
    kind,
    subject: { contractAddress, chainId, tokens: size },
    teamId,
  }
  const id = open?.id ?? (await recordForTeam(trx, clock, intent, chain))
  await joinGroup(trx, id, ids)
  return { group: { id, ids }, mints: recorded }
}
