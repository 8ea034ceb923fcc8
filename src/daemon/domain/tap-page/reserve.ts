import type { Actor } from '../../store/audit/audit.ts'
import { DomainError } from '../errors/errors.ts'
import { askForCode, askForLink } from '../reservations/ask.ts'
import { type KeepDeps, keepByCode } from '../reservations/keep.ts'
import type { ActDeps } from './act.ts'
import { actionsOf } from './actions.ts'
import { factsOf } from './build.ts'
import { codeOf } from './records.ts'
import { keepable } from './reserve-state.ts'
import { codesOf, type Visit } from './visit.ts'

type ReserveDeps = ActDeps & KeepDeps

/** The input of a form. `isLink`: it asks for another link to what is kept already. */
export type ReserveForm = { email: string; isLink: boolean } | { entered: string }

/**
 * @returns the ID of the mail that is on its way, if any @throws DomainError recipient_invalid, rate_limited,
 * mail_code_wrong, mail_code_over, or of the tap's codes
 */
export async function reserve(
  deps: ReserveDeps,
  visit: Visit,
  form: ReserveForm,
  { language, client, actor }: { language: string; client: string; actor: Actor },
): Promise<number | undefined> {
  const { tap } = visit
  if ('email' in form && form.isLink) return askForLink(deps, tap, { email: form.email, language, client })
  const facts = await factsOf(deps, visit, [])
  // Sent twice, by two tabs or a reload.
  if (facts.reservations.own?.row.state === 'kept') return undefined
  const open = keepable(await actionsOf(deps, facts))
  if (open.length === 0)
    throw new DomainError('otp_expired', 'This tap allows nothing that could be kept. Tap the chip again.')
  if ('email' in form) return askForCode(deps, tap, { email: form.email, language, client })
  const issued = await codesOf(deps, visit)
  // In one order, so that two that keep the same badges do not wait for each other.
  const codes = open.toSorted((a, b) => a.id - b.id).flatMap((action) => codeOf(issued, action) ?? [])
  return keepByCode(deps, tap, { entered: form.entered, codes, actor })
}
