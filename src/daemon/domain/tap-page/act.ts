import { ensNameIn } from '../../../values/recipient.ts'
import type { Actor } from '../../store/audit/audit.ts'
import { extendPage } from '../../store/taps/recorded-taps.ts'
import { type MintDeps as BadgeDeps, badgeMinted, reserveBadge } from '../badge-events/mint.ts'
import {
  type Idempotency,
  IdempotencyConflict,
  type Json,
  type KeyedRequest,
  keepAnswer,
} from '../chain/transactions.ts'
import { DomainError } from '../errors/errors.ts'
import { type MintDeps as GuestbookDeps, mintByCode } from '../guestbook/mint.ts'
import { registerClaimByCode } from '../phygitals/registrations.ts'
import type { TransferDeps } from '../phygitals/target.ts'
import { transferByCode } from '../phygitals/transfer.ts'
import { type ActionDeps, actionsOf } from './actions.ts'
import { factsOf } from './build.ts'
import type { ActionName } from './content.ts'
import { codeOf, recordOf, registered } from './records.ts'
import { codesOf, type Visit, type VisitDeps } from './visit.ts'

export type ActDeps = VisitDeps &
  TransferDeps &
  BadgeDeps &
  GuestbookDeps &
  ActionDeps & { idempotency: Idempotency }

/** A press of a button on a tap page. */
export interface ButtonPress {
  /** One, or those that were ticked in one form; not empty. */
  actions: readonly ActionName[]
  recipient: string
  deviceId: string | undefined
  actor: Actor
}

/** Pages can be reloaded for less time than this, unless the daemon's codes live longer. */
const recordsKeptMs = 24 * 3_600_000

const notAllowed = () =>
  new DomainError('otp_unknown', 'This tap does not allow it, or no longer does. Tap the chip again.')

/** Of one press, since each waits for the chain or a provider. */
const maxConcurrent = 4

/**
 * Performs each action of a press once: the same button pressed again, in another tab, or after a crash, leads to the
 * same outcomes, which `buildPage` finds in the store. Answers once the outcomes are recorded.
 * @returns the actions that were refused, each with its error: a DomainError of the code, the recipient, or the rule.
 * Nothing of them is used up then, except by idempotency_conflict: it was pressed before for another recipient
 */
export async function act(
  deps: ActDeps,
  visit: Visit,
  press: ButtonPress,
): Promise<{ action: ActionName; error: unknown }[]> {
  const refused: { action: ActionName; error: unknown }[] = []
  const offered = factsOf(deps, visit, []).then((facts) => actionsOf(deps, facts))
  const attempt = async (action: ActionName): Promise<void> => {
    try {
      // A form that the page does not have must not use up the ref or a code.
      if (!(await offered).some(({ kind, id }) => kind === action.kind && id === action.id))
        throw notAllowed()
      const code = codeOf(await codesOf(deps, visit), action)
      if (code === undefined) throw notAllowed()
      await actOnce(deps, visit.tap.tapId, { ...press, ...action }, code)
    } catch (error) {
      refused.push({ action, error })
    }
  }
  for (let index = 0; index < press.actions.length; index += maxConcurrent)
    await Promise.all(press.actions.slice(index, index + maxConcurrent).map(attempt))
  return refused
}

/** One action of a press. */
export interface Attempt extends ActionName, Omit<ButtonPress, 'actions'> {}

/** Performs an action by its code, once. @throws as `act` */
export async function actOnce(deps: ActDeps, tapId: number, attempt: Attempt, code: string): Promise<void> {
  const { kind, id, recipient } = attempt
  const claim = deps.idempotency.claim({
    ...recordOf(code, kind),
    request: [kind, id, recipient.trim().toLowerCase()],
    lifetimeMs: recordsKeptMs + deps.otpLifetime,
  })
  const steps = stepsOf(deps, tapId, attempt, { code, idempotency: claim })
  try {
    await deps.idempotency.run<Json>({ claim, answer: { parse: () => null }, ...steps })
  } catch (error) {
    if (!(error instanceof IdempotencyConflict)) throw error
    throw new DomainError(
      'idempotency_conflict',
      'This was already requested for another recipient. The first request counts.',
    )
  }
}

/** Steps of each button, including those left after a crash between recording and answering. */
function stepsOf(
  deps: ActDeps,
  tapId: number,
  { kind, id: eventId, recipient, deviceId, actor }: Attempt,
  { code, idempotency }: { code: string; idempotency: KeyedRequest },
) {
  const requester = { code, actor, idempotency }
  const name = ensNameIn(recipient)
  // The page keeps saying the name: its address alone would look like somebody else's.
  const typed = name === undefined ? null : { name }
  const recorded = async () => {
    deps.chains.relayer.wake()
    return typed
  }
  switch (kind) {
    case 'claim':
      return { run: () => transferByCode(deps, requester, recipient).then(recorded), resume: recorded }
    case 'guestbook':
      return { run: () => mintByCode(deps, requester, recipient).then(recorded), resume: recorded }
    case 'badge': {
      const minted = (claim: number | null) => badgeMinted(deps, claim ?? 0).then(() => typed)
      const request = { recipient, eventId, deviceId }
      const run = async (reserved: () => void) => {
        const claim = await reserveBadge(deps, requester, request)
        reserved()
        return minted(claim)
      }
      return { run, resume: minted }
    }
    case 'register': {
      // One write stores the record and its answer, so there is nothing to resume.
      const run = () =>
        registerClaimByCode<Json>(
          deps,
          { code, actor, keepsTime: true },
          recipient,
          async (trx, registration) => {
            await extendPage(trx, { id: tapId, until: registration.expiresAt })
            return keepAnswer<Json>(idempotency)(trx, { ...registered.parse(registration), ...typed })
          },
        )
      return { run, resume: run }
    }
  }
}
