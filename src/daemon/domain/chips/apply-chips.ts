import { appliedColumns } from '../../../values/chip-columns.ts'
import { AdaptiveSize, piecesOf } from '../../../values/time-slices.ts'
import { type Actor, recordChange } from '../../store/audit/audit.ts'
import { changedBefore, trailOf } from '../../store/audit/chip-trail.ts'
import { type AppliedColumns, applyToChip, clearLabels } from '../../store/chips/applied-chips.ts'
import { addToChipGroup } from '../../store/chips/chip-groups.ts'
import { saveTombstone, voidSimulatedTaps } from '../../store/chips/chip-records.ts'
import { findChips, updateChip } from '../../store/chips/chips.ts'
import type { Db, Queries } from '../../store/database/database.ts'
import { endClaimCodes, endTapsOfChip } from '../../store/taps/recorded-taps.ts'
import { withRollback } from '../dry-run/dry-run.ts'
import { type Clock, iso } from '../time/time.ts'
import type {
  ApplyCaller,
  NumberedRow,
  PlannedChange,
  PlannedChip,
  PlannedRow,
  PlannedStep,
} from './apply-change.ts'
import { planRows } from './apply-plan.ts'
import type { Changes } from './apply-row.ts'
import { tokenRowsOf } from './chip-bindings.ts'
import { ensureGroupIn } from './chip-groups.ts'
import { proofOfChip, removeIn } from './chip-state.ts'
import { type RegisterDeps, registerChipsIn } from './register-chips.ts'

type ApplyDeps = RegisterDeps & { clock: Clock }
type Deps = ApplyDeps & { db: Db }
export type AppliedRow = Pick<PlannedRow, 'row' | 'uid' | 'status' | 'changes' | 'error'>

export type ApplyingCaller = ApplyCaller & {
  actor: Actor
  /** The reasons for disabling chips. */
  reason?: string | undefined
}

/** Rows fail independently. @returns one result per row, in order, as soon as it is on disk */
export async function* applyRows(
  deps: Deps,
  caller: ApplyingCaller,
  rows: AsyncIterable<NumberedRow>,
  dryRun: boolean,
): AsyncGenerator<AppliedRow> {
  const size = new AdaptiveSize({ min: 50, max: 500 })
  const named = new Map<string, number>()
  for await (const piece of piecesOf(rows, size)) {
    const plan = (db: Queries) => planRows({ db, keyRing: deps.keyRing }, caller, piece, named)
    const apply = (trx: Queries) =>
      size.timed(piece.length, async () => new ApplyRun(trx, deps, caller).apply(await plan(trx)))
    if (!dryRun) {
      yield* await deps.db.write(apply)
      continue
    }
    const planned = await size.timed(piece.length, () => plan(deps.db.read))
    // Only an attempt shows whether a chip can be registered.
    yield* planned.some(({ status }) => status === 'created')
      ? await withRollback(deps.db, apply)
      : planned.map(resultOf)
  }
}

export const resultOf = ({ row, uid, status, changes, error }: PlannedStep): AppliedRow => ({
  row,
  uid,
  status,
  ...(changes === undefined ? {} : { changes }),
  ...(error === undefined ? {} : { error }),
})

/** Applies the decisions on rows. */
export class ApplyRun {
  readonly #trx: Queries
  readonly #deps: ApplyDeps
  readonly #caller: ApplyingCaller
  readonly #at: string
  readonly #groups = new Map<string, number>()
  /** The number of chips that each group gains. */
  readonly #gains = new Map<number, number>()
  readonly #removed = new Map<string, object>()

  constructor(trx: Queries, deps: ApplyDeps, caller: ApplyingCaller) {
    this.#trx = trx
    this.#deps = deps
    this.#caller = caller
    this.#at = iso(deps.clock.now())
  }

  async apply(planned: readonly PlannedStep[]): Promise<AppliedRow[]> {
    const changes = planned.filter((one): one is PlannedChange => 'to' in one)
    const results = new Map<PlannedStep, AppliedRow>()
    for (const [one, result] of await this.#change(changes)) results.set(one, result)
    for (const one of planned)
      if (one.status === 'removed' && 'chip' in one)
        for (const chip of await findChips(this.#trx, [one.chip.uid])) {
          await removeIn(this.#trx, this.#deps.keyRing, chip, this.#at)
          this.#removed.set(chip.uid, trailOf(chip))
        }
    const chips = planned.filter((one): one is PlannedChip => 'value' in one)
    for (const [one, result] of await this.#register(chips)) results.set(one, result)
    const all = planned.map((one) => results.get(one) ?? resultOf(one))
    await this.#record(planned, all)
    return all
  }

  async #groupOf(name: string): Promise<number> {
    const known = this.#groups.get(name)
    if (known !== undefined) return known
    const { teamId, actor } = this.#caller
    const { id } = await ensureGroupIn(this.#trx, { teamId, actor, at: this.#at }, name)
    this.#groups.set(name, id)
    return id
  }

  async #change(planned: readonly PlannedChange[]): Promise<Map<PlannedStep, AppliedRow>> {
    const trx = this.#trx
    const results = new Map<PlannedStep, AppliedRow>()
    const freed = await this.#freeLabels(planned)
    const tokens = await tokenRowsOf(trx, planned, this.#at)
    const bound: string[] = []
    for (const one of planned) {
      const { chip, to, changes, token, row, uid } = one
      const isTokenOther = Boolean(changes.contractAddress ?? changes.chainId ?? changes.tokenId)
      const change: Partial<AppliedColumns> = {
        ...(changes.label && { label: to.label }),
        ...(changes.chipGroup && { chipGroupId: await this.#groupOf(to.chipGroup ?? '') }),
        ...(changes.keySet && { keySetId: to.keySet }),
        ...(changes.redirectUrl && { redirectUrl: to.redirectUrl }),
        ...(changes.item && { itemId: to.item }),
        ...(changes.variant && { variantId: to.variant }),
        ...(isTokenOther && {
          tokenRow: token ? (tokens.get(`${token.contractId}/${token.tokenId}`) ?? null) : null,
        }),
        ...(changes.disabled && {
          disabledAt: to.disabled ? this.#at : null,
          disabledReason: (to.disabled && this.#caller.reason) || null,
        }),
      }
      const before = freed.has(chip.uid) ? { ...chip, label: null } : chip
      if (!(await applyToChip(trx, before, change, { isWhole: one.isWhole, at: this.#at }))) {
        if (freed.has(chip.uid)) throw new Error('A chip changed while its label was given to another one')
        const error = 'The chip was changed in the meantime, and is left as it is.'
        results.set(one, { row, uid, status: 'conflict', error })
        continue
      }
      if (change.chipGroupId !== undefined) this.#move(chip.chipGroupId, change.chipGroupId)
      if (changes.keySet) await this.#remember(chip.uid, chip.keySetId)
      // Unused codes were issued for the previous token or item.
      if (isTokenOther || changes.item) {
        await endClaimCodes(trx, chip.uid, this.#at)
        if (to.tokenId !== null || to.item !== null) bound.push(chip.uid)
      }
      if (changes.disabled && to.disabled) await endTapsOfChip(trx, chip.uid, this.#at)
    }
    if (bound.length > 0) await voidSimulatedTaps(trx, bound)
    for (const [group, chips] of this.#gains) await addToChipGroup(trx, group, chips)
    return results
  }

  /** Old taps would verify if the chip was registered again under the old key set. */
  async #remember(uid: string, keySetId: number | null): Promise<void> {
    for (const chip of await findChips(this.#trx, [uid])) {
      const before = { ...chip, keySetId }
      await saveTombstone(this.#trx, before, proofOfChip(this.#deps.keyRing, before), this.#at)
    }
  }

  #move(from: number, to: number): void {
    this.#gains.set(from, (this.#gains.get(from) ?? 0) - 1)
    this.#gains.set(to, (this.#gains.get(to) ?? 0) + 1)
  }

  /** Labels must be unique at every moment, so chips that swap labels have none in between. */
  async #freeLabels(planned: readonly PlannedChange[]): Promise<ReadonlySet<string>> {
    const relabelled = planned.filter(({ changes }) => changes.label)
    const newLabels = new Set(relabelled.map(({ to }) => to.label))
    const freed = relabelled.flatMap(({ chip }) =>
      chip.label !== null && newLabels.has(chip.label) ? chip.uid : [],
    )
    if (freed.length > 0) await clearLabels(this.#trx, freed)
    return new Set(freed)
  }

  async #register(chips: readonly PlannedChip[]): Promise<Map<PlannedStep, AppliedRow>> {
    const results = new Map<PlannedStep, AppliedRow>()
    const kinds = new Map<string, PlannedChip[]>()
    for (const one of chips) {
      const key = `${one.keySet}/${one.chipGroup}`
      const sameValues = kinds.get(key)
      if (sameValues) sameValues.push(one)
      else kinds.set(key, [one])
    }
    for (const sameValues of kinds.values()) {
      const [{ chipGroup = '', keySet = null } = {}] = sameValues
      const chipGroupId = await this.#groupOf(chipGroup)
      const registration = {
        ...this.#caller,
        chipGroupId,
        keySetId: keySet,
        isSimulated: false,
        at: this.#at,
      }
      const inputs = sameValues.map(({ input }) => input)
      const registered = await registerChipsIn(this.#trx, this.#deps, registration, inputs)
      for (const [at, one] of sameValues.entries()) {
        const done = registered[at]
        const { row, uid } = one
        if (done?.status === 'failed')
          results.set(one, { row, uid, status: 'failed', error: `${done.error}` })
        else if (one.value.wishes.disabled) await updateChip(this.#trx, uid, { disabledAt: this.#at })
        if (done?.status === 'created')
          results.set(one, { row, uid, status: 'created', changes: changesOf(one) })
      }
    }
    return results
  }

  async #record(planned: readonly PlannedStep[], all: readonly AppliedRow[]): Promise<void> {
    const { teamId, actor, reason } = this.#caller
    const done = all.filter(({ status }) => ['created', 'changed', 'removed'].includes(status))
    if (done.length === 0) return
    const count = (status: string) => done.filter((one) => one.status === status).length
    const before = new Map(
      planned.flatMap((one) => ('to' in one ? [[one.chip.uid, one.chip.changedAt] as const] : [])),
    )
    const rows = done.map(({ uid, status, changes }) => ({
      ...{ uid, status, changes },
      ...(this.#removed.get(uid ?? '') ?? changedBefore(before.get(uid ?? ''))),
    }))
    const chips = done.flatMap(({ uid, status }) => (status === 'removed' && uid) || [])
    const detail = {
      created: count('created'),
      changed: count('changed'),
      removed: count('removed'),
      ...(reason ? { reason } : {}),
      rows,
    }
    const target = done.length === 1 ? (done[0]?.uid ?? '') : `${done.length} chips`
    const entry = { at: this.#at, actor, teamId, action: 'chips.apply', target, detail, chips }
    await recordChange(this.#trx, entry)
  }
}

function changesOf({ value: { wishes, publicKey }, chipGroup }: PlannedChip): Changes {
  const changes: Changes = {}
  const values = { ...wishes, chipGroup, ...(publicKey === undefined ? {} : { keySet: null }) }
  for (const column of appliedColumns) {
    const to = values[column]
    if (to !== undefined && to !== null && to !== false) changes[column] = { from: null, to }
  }
  return changes
}
