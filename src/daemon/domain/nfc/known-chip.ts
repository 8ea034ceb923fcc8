import type { Inspection } from '../../../nfc/provision/inspect.ts'
import { type KeySetSource, type KeySource, sameSource, sourceVersion } from '../../../nfc/provision/keys.ts'
import type { Plan } from '../../../nfc/provision/plan.ts'
import { findChips } from '../../store/chips.ts'
import type { Queries } from '../../store/database.ts'
import { rememberedOf } from '../../store/removed-chips.ts'
import type { ChipRow } from '../../store/schema.ts'
import { rememberedOf } from '../../store/sqlite-register.ts'
import { hasPower } from '../chips/chip-power.ts'
import { DomainError } from '../errors.ts'
import { entriesOf, type JournalEntry } from './journal.ts'

/** What registry and journal know of a chip. Only from here, or from a tap that it shows, does it get its keys. */
export interface KnownChip {
  readonly row: ChipRow | undefined
  readonly open: JournalEntry | undefined
  /** The last entry that was finished. */
  readonly last: JournalEntry | undefined
  /** Whether it was ever set up here to the end. */
  readonly wasProvisioned: boolean
  /** Whether the last thing done to it here was to take its keys off it. */
  readonly wasReset: boolean
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
  const done = entries.filter(({ outcome }) => outcome === 'done')
  const last = done.at(-1)
  const tookKeys = done.findLast(({ plan }) => plan.target !== 'factory' || isReset(plan))
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
    wasProvisioned: done.some(({ plan }) => plan.target !== 'factory'),
    wasReset: tookKeys?.plan.target === 'factory',
    sources: distinct([...lastTarget, ...registered, ...removed]),
    nextGeneration: Math.max(-1, ...all.map(({ generation }) => generation)) + 1,
    usedKeySets: new Set(used.map(({ keySet }) => keySet)),
  }
}

/**
 * Whether nothing speaks against a chip with the factory's key 0 being the one that is registered. That key is no
 * secret, so anybody's blank chip that says the same UID looks just so: one whose keys are in use has to have been
 * reset here, which takes these keys. Chips with other keys are readBackTap by them.
 */
export function isAccountedFor({ versions }: Pick<Inspection, 'versions'>, known: KnownChip): boolean {
  const { row, open, wasProvisioned, wasReset } = known
  if (versions[0] !== 0 || row === undefined) return true
  if (row.lastCounter < 0 && !wasProvisioned) return true
  // What was begun on it was accounted for then.
  if (open) return isReset(open.plan) || open.plan.from.includes('factory')
  return wasReset
}

/** Of a chip that had shown the keys that it lost. One of a chip that was blank before took nothing off it. */
export const isReset = ({ target, from }: Plan): boolean => target === 'factory' && from.length > 0

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

/**
 * Keeps what a registered chip carries from whoever lays a chip of their own down under its UID: a plan for it has to
 * begin with the keys that the registry has of it. Any other keys may be known to whoever brings the chip: the factory's
 * are no secret, and older ones, or those of another key set, may be their own.
 * @param mayBind whether the caller may give power over what chips carry @throws DomainError scope_missing
 */
export async function assertOwnKeys(
  db: Queries,
  { row }: Pick<KnownChip, 'row'>,
  { from, target }: Pick<Plan, 'from' | 'target'>,
  mayBind: boolean,
): Promise<void> {
  if (mayBind || !row || !(await hasPower(db, row))) return
  const { keySetId: keySet, generation } = row
  const isRegistered = (source: KeySource) =>
    source !== 'factory' && keySet !== null && sameSource(source, { keySet, generation })
  if ((from.length > 0 ? from : [target]).every(isRegistered)) return
  throw new DomainError(
    'scope_missing',
    `The chip ${row.uid} is registered with something that it carries, and the one on the reader has not the keys that it is registered with: whoever sets it up could be given what another chip stands for. It takes an admin token of the scopes provision and transfer. Or take off what it carries (tapchip chips unlink), set it up, and link it again.`,
  )
}
