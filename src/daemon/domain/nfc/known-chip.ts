import type { Inspection } from '../../../nfc/provision/inspect.ts'
import {
  isKeySetSource,
  type KeySetSource,
  type KeySource,
  type Plan,
  sameSource,
  versionIn,
} from '../../../nfc/provision/plan.ts'
import type { Actor } from '../../store/audit/audit.ts'
import { rememberedOf } from '../../store/chips/chip-records.ts'
import { findChips } from '../../store/chips/chips.ts'
import type { Queries } from '../../store/database/database.ts'
import type { ChipRow } from '../../store/schema/schema.ts'
import { lacking, recordedAs } from '../access/grants.ts'
import { inAnotherTeam } from '../chips/chip-conflicts.ts'
import { givesCodes } from '../chips/chip-record.ts'
import { conflict } from '../errors/errors.ts'
import { entriesOf, type JournalEntry } from './journal.ts'

/** Knowledge about a chip from the registry and the journal. Its keys come only from here or from its own tap. */
export interface KnownChip {
  readonly row: ChipRow | undefined
  readonly open: JournalEntry | undefined
  /** The last finished entry. */
  readonly last: JournalEntry | undefined
  /** True if a setup was ever completed here. */
  readonly wasProvisioned: boolean
  /** True if the last operation here removed its keys. */
  readonly wasReset: boolean
  /** Possible sources of its keys without an open plan, most likely first. */
  readonly sources: readonly KeySetSource[]
  /** Higher than any earlier generation; 0 for a new chip. */
  readonly nextGeneration: number
  /** Key sets with which it was, or may have been, set up. */
  readonly usedKeySets: ReadonlySet<number>
}

/** @throws DomainError conflict for a chip that another team has, or has begun to set up */
export async function knownChip(
  db: Queries,
  uid: string,
  { ofTeam }: Pick<Actor, 'ofTeam'> = {},
): Promise<KnownChip> {
  const [row] = await findChips(db, [uid])
  const entries = (await entriesOf(db, uid)).filter(({ outcome }) => outcome !== 'untouched')
  const open = entries.find(({ row: { closedAt } }) => closedAt === null)
  const holder = row?.teamId ?? open?.enrollment?.teamId
  if (ofTeam !== undefined && holder !== undefined && holder !== ofTeam)
    throw conflict(`${inAnotherTeam}. It was not changed.`)
  const done = entries.filter(({ outcome }) => outcome === 'done')
  const last = done.at(-1)
  const tookKeys = done.findLast(({ plan }) => plan.target !== 'factory' || isReset(plan))
  const removed = (await rememberedOf(db, { identities: [], uids: [uid] })).flatMap(sourceOfRemoved)
  const registered = row?.keySetId == null ? [] : [{ keySet: row.keySetId, generation: row.generation }]
  const lastTarget = last === undefined || last.plan.target === 'factory' ? [] : [last.plan.target]
  const planned = entries.flatMap(({ plan: { from, target } }) => [...from, target]).filter(isKeySetSource)
  // A row without taps may be an imported list of chips that are still to be set up.
  const tapped = row !== undefined && (row.lastCounter >= 0 || row.lastTapAt !== null)
  const used = [...planned, ...removed, ...(tapped ? registered : [])]
  const all = [...planned, ...removed, ...registered]
  return {
    row,
    open,
    last,
    wasProvisioned: done.some(({ plan }) => plan.target !== 'factory'),
    wasReset: tookKeys?.plan.target === 'factory',
    sources: distinct([...lastTarget, ...registered, ...removed]),
    nextGeneration: Math.max(-1, ...all.map(({ generation }) => generation)) + 1,
    usedKeySets: new Set(used.map(({ keySet }) => keySet)),
  }
}

/**
 * False if a chip with the factory's key 0 may not be the registered one. That key is public, so any blank chip can
 * claim the same UID, as can any chip whose owner supplies its keys. A chip whose keys are in use must have been reset
 * here, which requires these keys. Other keys prove a chip by themselves.
 * @param proven the keys from its owner that the chip has, if any
 */
export function isAccountedFor(
  { versions }: Pick<Inspection, 'versions'>,
  known: KnownChip,
  proven?: { readonly proveChip: boolean },
): boolean {
  const { row, open, wasProvisioned, wasReset } = known
  if (row === undefined || (proven ? proven.proveChip : versions[0] !== 0)) return true
  if (row.lastCounter < 0 && !wasProvisioned) return true
  // This was checked when the plan was made.
  if (open && !proven) return isReset(open.plan) || open.plan.from.includes('factory')
  return wasReset
}

/** True for a chip that proved the keys that it lost. Resetting a blank chip removes nothing. */
export const isReset = ({ target, from }: Plan): boolean => target === 'factory' && from.length > 0

export const sourceShown = (
  { sources }: Pick<KnownChip, 'sources'>,
  versions: readonly number[],
): KeySetSource | undefined => sources.find((source) => versionIn(source, 0) === versions[0])

/** The identity of an NTAG chip is its key set and UID: store/removed-chips.ts. */
function sourceOfRemoved({ identity, generation }: { identity: string; generation: number }): KeySetSource[] {
  const keySet = /^(\d+)\//.exec(identity)?.[1]
  return keySet === undefined ? [] : [{ keySet: Number(keySet), generation }]
}

const distinct = (sources: readonly KeySetSource[]): KeySetSource[] =>
  sources.filter((source, at) => sources.findIndex((other) => sameSource(other, source)) === at)

/**
 * Protects a registered chip's assets from anyone who presents a chip of their own under its UID: the plan must
 * start from the registered keys. Any other keys may be known to the presenter: factory keys are public, and older
 * keys or those of another key set may be their own. `mayBind`: the caller may give power over assets @throws
 * DomainError scope_missing
 */
export async function assertOwnKeys(
  db: Queries,
  { row }: Pick<KnownChip, 'row'>,
  { from, target }: Pick<Plan, 'from' | 'target'>,
  { mayBind, ...actor }: Pick<Actor, 'name' | 'ofTeam'> & { mayBind: boolean },
): Promise<void> {
  if (mayBind || !row || !(await givesCodes(db, row))) return
  const { keySetId: keySet, generation } = row
  const isRegistered = (source: KeySource) =>
    isKeySetSource(source) && keySet !== null && sameSource(source, { keySet, generation })
  if ((from.length > 0 ? from : [target]).every(isRegistered)) return
  throw lacking(
    recordedAs(actor, actor.ofTeam),
    ['transfer'],
    `the registered chip ${row.uid} carries assets, but the chip on the reader does not have its keys, and setting it up could give those assets to another chip. Without that scope, unlink the assets (tapchip chips unlink), set up the chip, and have them linked again`,
  )
}
