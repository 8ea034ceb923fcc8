import type { Actor } from '../../store/audit.ts'
import { extendPageVisit } from '../../store/page-visits.ts'
import { type MintDeps as BadgeDeps, badgeMinted, reserveBadge } from '../badge-events/mint.ts'
import type { Idempotency, Json, KeyedRequest } from '../chain/transactions.ts'
import { IdempotencyConflict, keepAnswer } from '../chain/transactions.ts'
import { DomainError } from '../errors.ts'
import { type MintDeps as GuestbookDeps, mintByCode } from '../guestbook/mint.ts'
import { registerClaimByCode } from '../phygitals/registrations.ts'
import type { TransferDeps } from '../phygitals/target.ts'
import { transferByCode } from '../phygitals/transfer.ts'
import type { ActionKind } from './content.ts'
import { recordOf, registered } from './records.ts'
import { codesOf, type Visit, type VisitDeps } from './visit.ts'

export type ActDeps = VisitDeps & TransferDeps & BadgeDeps & GuestbookDeps & { idempotency: Idempotency }

/** A press of a button on a tap page. */
export interface Press {
  kind: ActionKind
  /** Of the badge or guestbook event; 0 for claims. */
  id: number
  recipient: string
  deviceId: string | undefined
  actor: Actor
}

/**
 * Does what a button says, once: the same button pressed again, in another tab, or after a crash, leads to the same
 * outcome, which `buildPage` finds in the store. Answers once the outcome is recorded.
 * @throws DomainError of the code, the recipient, or the rule; nothing is used up then, except by
 * idempotency_conflict: the button was pressed before for another recipient
 */
export async function act(deps: ActDeps, visit: Visit, press: Press): Promise<void> {
  const codes = await codesOf(deps, visit)
  const { kind, id, recipient, actor } = press
  const code = codeFor(kind, id)
  if (code === undefined)
    throw new DomainError('otp_unknown', 'This tap does not allow it any more. Tap the chip again.')
  const claim = deps.idempotency.claim({
    ...recordOf(code, kind),
    request: [kind, id, recipient.trim().toLowerCase()],
    lifetimeMs: recordsKeptMs + deps.otpLifetime,
  })
  try {
    await deps.idempotency.once<Json>({ claim, answer: { parse: () => null }, ...stepsOf(code, claim) })
  } catch (error) {
    if (!(error instanceof IdempotencyConflict)) throw error
    throw new DomainError(
      'idempotency_conflict',
      'This was already asked for, for another recipient. The first one counts.',
    )
  }

  function codeFor(kind: ActionKind, id: number): string | undefined {
    const of = (list: readonly [number, string][]) => list.find(([event]) => event === id)?.[1]
    if (kind === 'badge') return of(codes.badges)
    return kind === 'guestbook' ? of(codes.guestbooks) : codes.claim
  }

  function stepsOf(code: string, idempotency: KeyedRequest) {
    const asking = { code, actor, idempotency }
    const recorded = async () => {
      deps.chains.relayer.wake()
      return null
    }
    switch (kind) {
      case 'claim':
        return { run: () => transferByCode(deps, asking, recipient).then(recorded), resume: recorded }
      case 'guestbook':
        return { run: () => mintByCode(deps, asking, recipient).then(recorded), resume: recorded }
      case 'badge': {
        const minted = (claimId: number | null) => badgeMinted(deps, claimId ?? 0).then(() => null)
        const wanted = { recipient, eventId: id, deviceId: press.deviceId }
        return { run: async () => minted(await reserveBadge(deps, asking, wanted)), resume: minted }
      }
      case 'register': {
        // One write has the record and its answer, so there is nothing to resume.
        const run = () =>
          registerClaimByCode<Json>(deps, { code, actor }, recipient, async (trx, made) => {
            const { cookieHash } = visit
            await extendPageVisit(trx, { cookieHash, expiresAt: made.expiresAt })
            return keepAnswer<Json>(idempotency)(trx, registered.parse(made))
          })
        return { run, resume: run }
      }
    }
  }
}

/** Longer than a page can be loaded again by a daemon with the usual settings. */
const recordsKeptMs = 24 * 3_600_000
