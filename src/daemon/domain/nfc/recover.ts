import { ForeignKeys } from '../../../nfc/provision/errors.ts'
import { hasFactoryKeys, inspect } from '../../../nfc/provision/inspect.ts'
import { sourcesOf, targetFile } from '../../../nfc/provision/plan.ts'
import { DomainError } from '../errors.ts'
import { iso } from '../time.ts'
import { chipKeys } from './chip-keys.ts'
import { type Conversation, relay } from './conversation.ts'
import { close, type JournalEntry, resumeIn } from './journal.ts'
import { knownChip } from './known-chip.ts'
import { outcome } from './provision.ts'
import { registerWithTap } from './registration.ts'
import type { Session } from './session.ts'
import { carryOut, holdAgainst, type SetUpDeps } from './set-up.ts'

/** Brings a chip that was lifted too early to the end of its plan. One whose plan is finished is only looked at. */
export async function* recoverChip(
  deps: SetUpDeps,
  session: Session,
  { atr }: { readonly atr: Uint8Array | undefined },
): Conversation {
  const inspection = yield* relay(inspect(atr), 'inspect')
  const { uid } = inspection
  session.saw(uid)
  session.hold(uid)
  const { open, last } = await knownChip(deps.db.read, uid)
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
  const keysOf = await chipKeys({ db: deps.db.read, box: deps.box }, sourcesOf(plan))
  if (!open) {
    // Whatever it is now, it is not for this plan to change any more.
    if (target === 'factory') {
      if (!hasFactoryKeys(inspection)) throw new ForeignKeys(inspection.versions)
      return { status: 'factory', uid }
    }
    if (!(yield* holdAgainst({ ...plan, from: [] }, inspection, keysOf))) throw shownOther()
    return outcome('provisioned', plan, target)
  }
  const at = iso(deps.clock.now())
  await deps.db.write((trx) => resumeIn(trx, session.actor, at, open, open.place))
  session.began(open.id)
  const tap = yield* carryOut(deps, session.actor, { entry, isBegun: true }, inspection, keysOf)
  await finish(deps, session, open, tap)
  return target === 'factory' ? { status: 'factory', uid } : outcome('provisioned', plan, target)
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
  await close(deps, actor, entry, 'done')
}
