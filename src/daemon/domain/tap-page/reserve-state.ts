import { isShared } from '../reservations/keep.ts'
import type { OwnReservation } from '../reservations/own.ts'
import type { PageFacts } from './actions.ts'
import type { Action, Failure, Reserve } from './content.ts'

/** A form to keep things that was just sent: its input, and why it was refused. */
export interface TriedReserve {
  email?: string
  failure?: Failure
  isLink?: boolean
}

/** Actions that a reservation keeps. The second step of two is not one: its first keeps the claim. */
export const keepable = (actions: readonly Action[]): Action[] => {
  const open = actions.filter(({ state }) => state.is === 'open')
  return actions.some(({ kind }) => kind === 'register') ? open.filter(({ kind }) => kind !== 'claim') : open
}

/** @returns undefined if there is nothing to keep */
export function reserveOn(
  { token, page, reservations: { own, isKeptByOther } }: PageFacts,
  actions: readonly Action[],
  tried: TriedReserve | undefined,
): Reserve | undefined {
  const last = tried && { ...(tried.email === undefined ? {} : { email: tried.email }), ...failed(tried) }
  if (own?.row.state === 'kept')
    return { is: 'kept', mail: own.mail, until: own.row.endsAt ?? '', isShared: own.row.claims === 2 }
  if (tried?.isLink) return { is: 'elsewhere', ...last, isAsked: tried.failure === undefined }
  if (keepable(actions).length === 0) return isKeptByOther ? { is: 'elsewhere' } : undefined
  if (own && isWaiting(own)) return asked(own, tried)
  const mayBeKept = page?.hasReservations === true
  return { is: 'open', ...last, isShared: isShared(token) && hasClaim(actions), mayBeKept }
}

const hasClaim = (actions: readonly Action[]): boolean =>
  keepable(actions).some(({ kind }) => kind === 'claim' || kind === 'register')

const failed = ({ failure }: TriedReserve) => (failure === undefined ? {} : { failure })

/** Otherwise another mail has to be asked for. */
const isWaiting = ({ row, email, triesLeft }: OwnReservation): boolean =>
  row.state === 'asked' && email !== undefined && triesLeft > 0

const asked = (
  { row, email = '', mail, triesLeft }: OwnReservation,
  tried: TriedReserve | undefined,
): Reserve => ({
  ...{ is: 'asked', email, mail, triesLeft, until: row.codeUntil },
  ...(tried ? failed(tried) : {}),
})
