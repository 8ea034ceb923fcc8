import { ForeignKeys } from '../../../nfc/provision/errors.ts'
import { hasFactoryKeys, type Inspection, inspect } from '../../../nfc/provision/inspect.ts'
import { sourcesOn, targetFile } from '../../../nfc/provision/plan.ts'
import { labelsThere } from '../../store/chip-registration.ts'
import { isMinting } from '../chips/chip-power.ts'
import { DomainError } from '../errors.ts'
import { iso } from '../time.ts'
import { chipKeys } from './chip-keys.ts'
import { close, type JournalEntry, type Place, resumeIn } from './journal.ts'
import { assertOwnKeys, type KnownChip, knownChip } from './known-chip.ts'
import { outcome } from './provision.ts'
import { registerWithTap } from './registration.ts'
import { type Conversation, relay, type Session } from './session.ts'
import { carryOut, endTaps, holdAgainst, type SetUpDeps } from './set-up.ts'

/** Brings a chip that was lifted too early to the end of its plan. One whose plan is finished is only looked at. */
export async function* recoverChip(
  deps: SetUpDeps,
  session: Session,
  { atr, mayBind }: { readonly atr: Uint8Array | undefined; readonly mayBind: boolean },
): Conversation {
  const inspection = yield* relay(inspect(atr), 'inspect')
  const { uid } = inspection
  session.saw(uid)
  session.hold({ uid })
  const known = await knownChip(deps.db.read, uid)
  const { open, last } = known
  const entry = open ?? last
  if (!entry) {
    throw new DomainError(
      'not_found',
      'No set-up of this chip was begun here, so there is nothing to recover. If another daemon began it, recover it there.',
    )
  }
  const { plan } = entry
  const { target } = plan
  if (target !== 'factory') session.plans({ keySet: target.keySet, url: targetFile(plan).url ?? '' })
  const keysOf = await chipKeys({ db: deps.db.read, box: deps.box }, sourcesOn(plan, inspection.versions))
  if (!open) {
    // Whatever it is now, it is not for this plan to change any more.
    if (target === 'factory') {
      if (!hasFactoryKeys(inspection)) throw new ForeignKeys(inspection.versions)
      return { status: 'factory', uid }
    }
    if (!(yield* holdAgainst({ ...plan, from: [] }, inspection, keysOf))) throw shownOther()
    return outcome('provisioned', plan, target)
  }
  await assertOwnKeys(deps.db.read, known, plan, mayBind || target === 'factory')
  const begun = { ...open, place: placeFor(open, inspection, mayBind) }
  if (!known.row && begun.place) await assertMayMint(deps, begun.place)
  const at = iso(deps.clock.now())
  await deps.db.write((trx) => resumeIn(trx, session.actor, at, open, begun.place))
  session.began(open.id)
  const { place, warning } = await placeLeft(deps, session, begun, known)
  const tap = yield* carryOut(deps, session.actor, { entry, isBegun: true }, inspection, keysOf)
  await finish(deps, session, { ...open, place }, tap)
  if (target === 'factory') return { status: 'factory', uid }
  return { ...outcome('provisioned', plan, target), ...(warning === undefined ? {} : { warning }) }
}

/**
 * A chip whose key 0 is still the factory's may be anybody's: what it may be bound to, whoever goes on with it says anew.
 */
function placeFor({ place }: JournalEntry, { versions }: Inspection, mayBind: boolean): Place | undefined {
  if (!place) return undefined
  return { ...place, mayBind: mayBind || (place.mayBind && versions[0] !== 0) }
}

/** @throws DomainError scope_missing */
async function assertMayMint(
  { db }: SetUpDeps,
  { teamId, details: { item }, mayBind }: Place,
): Promise<void> {
  if (mayBind || item === undefined || !(await isMinting(db.read, teamId, item))) return
  throw new DomainError(
    'scope_missing',
    `The chip is to be bound to the item ${item}, whose tokens are minted for its chips, and it is still blank, so it may be anybody's. It takes an admin token of the scopes provision and transfer.`,
  )
}

/** A row of a sheet is for one chip: where another got it since, this one gets nothing of it. */
async function placeLeft(
  { db }: SetUpDeps,
  session: Session,
  { plan: { uid }, place }: JournalEntry,
  { row }: KnownChip,
): Promise<{ place: Place | undefined; warning?: string }> {
  const label = place?.details.label
  if (!place || label === undefined || row) return { place }
  const { teamId } = place
  const isHeld = isBeingGiven(session, { label, teamId })
  const [holder] = await labelsThere(db.read, teamId, [label])
  if (!isHeld && (!holder || holder.uid === uid)) return { place }
  const to = isHeld || !holder ? 'another chip' : `the chip ${holder.uid}`
  return {
    place: { ...place, details: {} },
    warning: `The label "${label}" was given to ${to} while this one lay aside, so this one is registered without it, and without an item and a redirect URL. To give it a row of its own: tapchip chips remove ${uid}, then tapchip nfc provision`,
  }
}

function isBeingGiven(session: Session, held: { label: string; teamId: number }): boolean {
  try {
    session.hold(held)
    return false
  } catch (error) {
    if (error instanceof DomainError && error.code === 'conflict') return true
    throw error
  }
}

const shownOther = (): DomainError =>
  new DomainError(
    'conflict',
    'The set-up of this chip was finished, and it shows another URL by now. To set it up again: nfc provision --rekey',
  )

async function finish(
  deps: SetUpDeps,
  { actor }: Session,
  entry: JournalEntry,
  tap: Parameters<typeof registerWithTap>[3] | null,
): Promise<void> {
  const { plan, place } = entry
  const { target } = plan
  if (tap && place && target !== 'factory') await registerWithTap(deps, actor, { plan, target, place }, tap)
  await close(deps, actor, entry, 'done', endTaps(actor, plan))
}
