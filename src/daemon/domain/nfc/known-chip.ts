import { type KeySetSource, sameSource, sourceVersion } from '../../../nfc/provision/keys.ts'
import { findChips } from '../../store/chips.ts'
import type { Queries } from '../../store/database.ts'
import type { ChipRow } from '../../store/schema.ts'
import { rememberedOf } from '../../store/sqlite-register.ts'
import { entriesOf, type JournalEntry } from './journal.ts'

/** What registry and journal know of a chip. Only from here, or from a tap that it shows, does it get its keys. */
export interface KnownChip {
  readonly row: ChipRow | undefined
  readonly open: JournalEntry | undefined
  /** The last entry that was finished. */
  readonly last: JournalEntry | undefined
  /** Where its keys can be from when no plan is open, the likeliest first. */
  readonly sources: readonly KeySetSource[]
  /** Above all that it ever had; 0 of a chip that is new. */
  readonly nextGeneration: number
  /** The key sets that it was set up with, or may have been. */
  readonly usedKeySets: ReadonlySet<number>
}

export async function knownChip(db: Queries, uid: string): Promise<KnownChip> {
  const [row] = await findChips(db, [uid])
  const entries = (await entriesOf(db, uid)).filter(({ outcome }) => outcome !== 'untouched')
  const last = entries.findLast(({ outcome }) => outcome === 'done')
  const removed = (await rememberedOf(db, { identities: [], uids: [uid] })).flatMap(sourceOfRemoved)
  const registered = row?.keySetId == null ? [] : [{ keySet: row.keySetId, generation: row.generation }]
  const lastTarget = last === undefined || last.plan.target === 'factory' ? [] : [last.plan.target]
  const planned = entries.flatMap(({ plan: { from, target } }) => [...from, target]).filter(isKeySet)
  // A row that never saw a tap may be a list of chips that are still to be set up.
  const tapped = row !== undefined && (row.lastCounter >= 0 || row.lastTapAt !== null)
  const used = [...planned, ...removed, ...(tapped ? registered : [])]
  const all = [...planned, ...removed, ...registered]
  return {
    row,
    open: entries.find(({ row: { closedAt } }) => closedAt === null),
    last,
    sources: distinct([...lastTarget, ...registered, ...removed]),
    nextGeneration: Math.max(-1, ...all.map(({ generation }) => generation)) + 1,
    usedKeySets: new Set(used.map(({ keySet }) => keySet)),
  }
}

/** The source whose version the chip shows. */
export const sourceShown = (
  { sources }: Pick<KnownChip, 'sources'>,
  versions: readonly number[],
): KeySetSource | undefined => sources.find((source) => sourceVersion(source) === versions[0])

const isKeySet = (source: 'factory' | KeySetSource): source is KeySetSource => source !== 'factory'

/** The identity of an NTAG chip is its key set and UID: store/removed-chips.ts. */
function sourceOfRemoved({ identity, generation }: { identity: string; generation: number }): KeySetSource[] {
  const keySet = /^(\d+)\//.exec(identity)?.[1]
  return keySet === undefined ? [] : [{ keySet: Number(keySet), generation }]
}

const distinct = (sources: readonly KeySetSource[]): KeySetSource[] =>
  sources.filter((source, at) => sources.findIndex((other) => sameSource(other, source)) === at)
