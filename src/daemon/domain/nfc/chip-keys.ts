import { AesKey } from '../../../nfc/ntag424/cmac.ts'
import { an10922, chipKeyInput, planKeys } from '../../../nfc/ntag424/diversify.ts'
import { KEY_NUMBERS } from '../../../nfc/ntag424/layout.ts'
import {
  isKeySetSource,
  type KeySource,
  type KeysOf,
  type Plan,
  sourcesOn,
  versionIn,
} from '../../../nfc/provision/plan.ts'
import { canSetUpChips } from '../../../values/diversifications.ts'
import type { Actor } from '../../store/audit/audit.ts'
import { findKeySet, isKeySetUsed } from '../../store/chips/key-sets.ts'
import type { SecretBox } from '../../store/data-dir/secret-box.ts'
import type { Db, Queries } from '../../store/database/database.ts'
import type { KeySetRow } from '../../store/schema/schema.ts'
import { titleOf } from '../access/credentials.ts'
import { lacking, recordedAs } from '../access/grants.ts'
import { type KeyRing, type KeySet, keyContext } from '../chips/key-ring.ts'
import { conflict, DomainError, scopeMissing } from '../errors/errors.ts'

/** The master keys for setting up chips. Kept only as long as their session, and never handed out. */
interface ChipMasters {
  readonly application: AesKey
  readonly fileRead: Buffer
  readonly metaRead: Buffer
  readonly diversification: KeySetRow['diversification']
  readonly systemIdentifier: Buffer
}

/**
 * @param supplied keys 0 to 4 of the chip from its owner, if it has such
 * @throws DomainError not_found, conflict if a key set is gone or cannot set up chips
 */
export async function chipKeys(
  { db, box }: { db: Queries; box: SecretBox },
  sources: readonly KeySource[],
  supplied: readonly Buffer[] = [],
): Promise<KeysOf> {
  const masters = new Map<number, ChipMasters>()
  for (const source of sources)
    if (isKeySetSource(source) && !masters.has(source.keySet))
      masters.set(source.keySet, await mastersOf(db, box, source.keySet))
  return (source, uid) => {
    if ('supplied' in source)
      return KEY_NUMBERS.map((keyNo) => ({
        keyNo,
        key: supplied[keyNo] ?? Buffer.alloc(0),
        version: versionIn(source, keyNo),
      }))
    const { keySet, generation } = source
    const held = masters.get(keySet)
    if (!held) throw new RangeError(`The keys of the key set ${keySet} were not asked for`)
    const { application, metaRead, systemIdentifier } = held
    const input = { uid, systemIdentifier, generation }
    const fileRead =
      held.diversification === 'none' ? held.fileRead : an10922(held.fileRead, chipKeyInput(input))
    return planKeys({ ...input, applicationMaster: application, fileRead, metaRead })
  }
}

async function mastersOf(db: Queries, box: SecretBox, id: number): Promise<ChipMasters> {
  const row = await findKeySet(db, id)
  if (!row) throw missingKeySet(id)
  const { appMasterKey, fileReadKey, metaReadKey, diversification, systemIdentifier } = row
  if (!appMasterKey || !fileReadKey || !canSetUpChips(diversification)) {
    const why = canSetUpChips(diversification)
      ? 'it has no application master key'
      : diversification === 'listed'
        ? "its keys are listed and come from the chips' encoder"
        : `its derivation, ${diversification}, is that of another tool, and serves to verify chips`
    throw conflict(
      `The key set ${id} cannot set up chips: ${why}. Create a key set that can (tapchip key-sets create); if a chip has such keys now, give its five keys: --keys FILE`,
    )
  }
  return {
    application: new AesKey(box.open(appMasterKey, keyContext(id, 'appMaster'))),
    fileRead: box.open(fileReadKey, keyContext(id, 'fileRead')),
    metaRead: box.open(metaReadKey, keyContext(id, 'metaRead')),
    diversification,
    systemIdentifier: Buffer.from(systemIdentifier, 'hex'),
  }
}

/**
 * A key shared by all chips of a set is not written or removed in a session that is opened with another key: anyone
 * who knows that key can read the shared one from the commands. A blank chip's key is public, its owner knows the keys
 * that were supplied, and whoever recorded a chip's set-up knows those.
 * @throws DomainError scope_missing
 */
export async function assertMayWrite(
  { db, keyRing }: { db: Pick<Db, 'read'>; keyRing: Pick<KeyRing, 'get'> },
  { plan, versions }: { plan: Plan; versions: readonly number[] },
  caller: KeyHolder,
): Promise<void> {
  for (const source of sourcesOn(plan, versions)) {
    if (!isKeySetSource(source) || versionIn(source, 0) === versions[0]) continue
    const set = keyRing.get(source.keySet)
    if (set) await assertMaySee(db.read, set, caller)
  }
}

interface KeyHolder extends Pick<Actor, 'name' | 'ofTeam'> {
  /** It has the scope `keys`. */
  readonly mayVouch: boolean
}

/** @throws DomainError scope_missing */
export async function assertMaySee(
  db: Queries,
  { id, diversification }: KeySet,
  { mayVouch, ...actor }: KeyHolder,
): Promise<void> {
  if (diversification !== 'none') return
  const { ofTeam } = actor
  const isShared = mayVouch && ofTeam !== undefined && (await isKeySetUsed(db, id, { exceptBy: ofTeam }))
  if (mayVouch && !isShared) return
  const why = `the key set ${id} has the derivation none, so all of its chips share one key, and whoever records how a chip gets it can make the taps of all. A key set with the derivation an10922 does without`
  const holder = recordedAs(actor, ofTeam)
  throw isShared
    ? scopeMissing(
        `${titleOf(holder)} is for one team, and chips of another team have these keys: ${why}. Ask whoever runs the daemon: it takes an admin token without a team.`,
      )
    : lacking(holder, ['keys'], why)
}

export const missingKeySet = (id: number): DomainError =>
  new DomainError(
    'not_found',
    `There is no key set ${id}. Create it first (tapchip key-sets create), or correct the number.`,
  )
