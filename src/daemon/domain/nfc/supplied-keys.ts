import { randomBytes } from 'node:crypto'
import { AesKey } from '../../../nfc/ntag424/cmac.ts'
import { KEY_NUMBERS } from '../../../nfc/ntag424/layout.ts'
import type { SecureSession } from '../../../nfc/ntag424/secure-session.ts'
import { ForeignKeyInSlot, ForeignKeys, WrongChip, WrongKeys } from '../../../nfc/provision/errors.ts'
import { hasFactoryKeys, type Inspection, isLikeNew } from '../../../nfc/provision/inspect.ts'
import {
  FACTORY_KEY,
  keyFrom,
  type SuppliedSource,
  sourcesAt,
  sourcesOf,
} from '../../../nfc/provision/plan.ts'
import { proveKeys, type SlotKeys } from '../../../nfc/provision/prove-keys.ts'
import { tapFits } from '../../../nfc/provision/tap-fits.ts'
import { uidToBytes } from '../../../nfc/uid.ts'
import type { ChipRow } from '../../store/schema/schema.ts'
import { chipKeys } from './chip-keys.ts'
import type { SetUpDeps } from './execute-plan.ts'
import { type KnownChip, sourceShown } from './known-chip.ts'
import { type Reply, runScript, type Step } from './session.ts'

/** The keys of another system that a chip has proven to have. */
interface ProvenKeys {
  readonly source: SuppliedSource
  /** Keys 0 to 4. */
  readonly keys: readonly Buffer[]
  /** Opened with key 0, and used for proofs alone. */
  readonly session: SecureSession
  /** They include the key with which the registry verifies this chip's taps, and no other chip has that. */
  readonly proveChip: boolean
}

/**
 * Finds which of the supplied keys the chip has, before anything is recorded or changed. A tap tells first whether they
 * are the right ones, since each failed authentication brings the chip closer to its end. Slots that another program
 * has half-way taken back to the factory are found too.
 * @param supplied sets of five keys, as the owner gave them
 * @returns undefined if they are not needed: the chip is blank, or has keys of this daemon @throws WrongKeys
 */
export async function* proveSupplied(
  deps: SetUpDeps,
  inspection: Inspection,
  known: KnownChip,
  supplied: readonly (readonly Buffer[])[],
): AsyncGenerator<Step, ProvenKeys | undefined, Reply> {
  if (supplied.length === 0) return undefined
  const { uid, versions } = inspection
  const bytes = uidToBytes(uid)
  const ofPlan = await keysOfOpenPlan(deps, inspection, known)
  const options = KEY_NUMBERS.map((keyNo) => keysToTry(inspection, keyNo, supplied, ofPlan[keyNo]))
  if ((yield* runScript(tapFits(inspection, options), 'inspect')) === false) {
    if (isOurs(known, versions)) return undefined
    throw new WrongKeys(
      'its tap was made with others, so none was tried',
      'Look for the file of this chip: its UID is often in the name of the file, or in it',
    )
  }
  const { at, session, uid: real } = yield* proven(inspection, options)
  if (!real.equals(bytes)) throw new WrongChip()
  const keys = options.map((one, keyNo) => one[at[keyNo] ?? 0] ?? FACTORY_KEY)
  if (hasFactoryKeys(inspection) && keys.every((key) => key.equals(FACTORY_KEY))) return undefined
  if (keys.every((key, keyNo) => ofPlan[keyNo]?.some((one) => one.equals(key)))) return undefined
  const proveChip = hasRegisteredKey(deps, known.row, keys)
  return { source: { supplied: versions }, keys, session, proveChip }
}

/** @returns for each slot, in the order in which they are tried */
export const keysToTry = (
  inspection: Pick<Inspection, 'versions' | 'ndef'>,
  keyNo: number,
  supplied: readonly (readonly Buffer[])[],
  ofPlan: readonly Buffer[] = [],
): readonly Buffer[] => {
  const given = supplied.flatMap((keys) => keys[keyNo] ?? [])
  const ofOthers = [...ofPlan, ...given]
  // A wrong try costs the chip something only for key 0.
  if (keyNo === 0 && inspection.versions[0] !== 0) return distinct(ofOthers)
  return distinct(isLikeNew(inspection) ? [FACTORY_KEY, ...ofOthers] : [...ofOthers, FACTORY_KEY])
}

async function* proven(
  { versions }: Inspection,
  options: readonly (readonly Buffer[])[],
): AsyncGenerator<Step, SlotKeys, Reply> {
  try {
    return yield* runScript(proveKeys(versions, options, randomBytes), 'inspect')
  } catch (error) {
    const advice = 'Nothing was changed. Do not try keys by guess: the chip counts failed attempts at key 0'
    if (error instanceof ForeignKeys)
      throw new WrongKeys(
        `its key 0 is another (key versions ${versions.join(' ')})`,
        `${advice}. If it may be blank: --try-factory-keys`,
        { cause: error },
      )
    if (error instanceof ForeignKeyInSlot)
      throw new WrongKeys(`key 0 is right, and key ${error.keyNo} is another`, advice, { cause: error })
    throw error
  }
}

async function keysOfOpenPlan(
  deps: SetUpDeps,
  { uid, versions }: Inspection,
  { open }: KnownChip,
): Promise<readonly (readonly Buffer[])[]> {
  if (!open) return []
  const keysOf = await chipKeys(
    { db: deps.db.read, box: deps.box },
    sourcesOf(open.plan),
    suppliedIn(deps, open),
  )
  const bytes = uidToBytes(uid)
  return KEY_NUMBERS.map((keyNo) =>
    sourcesAt(open.plan, keyNo, versions).map((source) => keyFrom(source, keyNo, bytes, keysOf)),
  )
}

function isOurs(known: KnownChip, versions: readonly number[]): boolean {
  const { open } = known
  if (!open) return sourceShown(known, versions) !== undefined
  return versions.every((_, keyNo) => sourcesAt(open.plan, keyNo, versions).length > 0)
}

function hasRegisteredKey(
  { keyRing }: Pick<SetUpDeps, 'keyRing'>,
  row: ChipRow | undefined,
  keys: readonly Buffer[],
): boolean {
  const set = row?.keySetId == null ? undefined : keyRing.get(row.keySetId)
  if (!row || !set || set.diversification === 'none') return false
  const registered = keyRing.proofOf(keyRing.fileReadKey(set, row), row.uid)
  return registered !== null && keys.some((key) => keyRing.proofOf(new AesKey(key), row.uid) === registered)
}

const context = (uid: string): string => `nfcPlans:${uid}:suppliedKeys`

/** For the journal: the plan can then be completed without the caller. */
export const sealSupplied = ({ box }: Pick<SetUpDeps, 'box'>, uid: string, keys: readonly Buffer[]): Buffer =>
  box.seal(Buffer.concat(keys), context(uid))

/** @returns keys 0 to 4; undefined if the plan starts from no supplied keys, or is finished */
export function suppliedIn(
  { box }: Pick<SetUpDeps, 'box'>,
  entry: { readonly row: { readonly uid: string; readonly suppliedKeys: Uint8Array | null } } | undefined,
): readonly Buffer[] | undefined {
  if (!entry?.row.suppliedKeys) return undefined
  const keys = box.open(entry.row.suppliedKeys, context(entry.row.uid))
  return KEY_NUMBERS.map((keyNo) => keys.subarray(16 * keyNo, 16 * (keyNo + 1)))
}

const distinct = (keys: readonly Buffer[]): readonly Buffer[] =>
  keys.filter((key, at) => keys.findIndex((other) => other.equals(key)) === at)
