import type { Card } from '../../nfc/card.ts'
import { transmitAll } from '../../nfc/script.ts'
import { ApiError, DaemonUnreachable } from '../client/errors.ts'
import type { AnswerOf, CallArguments } from '../client/types.ts'
import type { CliContext } from '../context.ts'
import { CliError } from '../errors.ts'
import { type Stop, unlessAborted } from './stop.ts'

type Api = Pick<CliContext, 'call'>
type Next = AnswerOf<'POST /admin/nfc/sessions'>['next']
type Reply = NonNullable<CallArguments<'POST /admin/nfc/sessions/:id/answers'>[0]['body']>

export type Order = NonNullable<NonNullable<CallArguments<'POST /admin/nfc/sessions'>[0]>['body']>
/** The result of a session with the daemon. */
export type SessionResult = Extract<Next, { type: 'ended' }>['outcome']
/** The daemon's knowledge of the chip before anything is changed. */
export type InspectedChip = Extract<Next, { type: 'inspected' }>
export type Details = NonNullable<Reply['details']>

export interface SessionHooks {
  readonly stop: Stop
  /** Called if the order waits for details. If it throws, the session ends without changes. */
  readonly onInspected?: (chip: InspectedChip) => Promise<Details> | Details
}

/** The daemon does not know the session any more: it was restarted. */
export class SessionLost extends Error {}

/**
 * Carries APDUs between a card and the daemon, which holds the keys. If this throws, the chip may be half written; the
 * daemon's journal knows how to continue. @throws CardError, ApiError, DaemonUnreachable, SessionLost, Interrupted
 */
export const forwardApdus = async (
  api: Api,
  card: Pick<Card, 'atr' | 'transmit'>,
  order: Order,
  options: SessionHooks,
): Promise<SessionResult> => {
  const { stop } = options
  const atr = Buffer.from(card.atr).toString('hex')
  let { id, step, next } = await api.call('POST /admin/nfc/sessions', { body: { atr, ...order } })
  try {
    while (next.type !== 'ended') {
      const reply = await replyTo(next, card, options)
      const answered = api.call('POST /admin/nfc/sessions/:id/answers', {
        params: { id },
        body: { step, ...reply },
      })
      ;({ step, next } = await unlessAborted(answered, stop.late))
      stop.alive()
    }
    return next.outcome
  } catch (error) {
    if (error instanceof ApiError && error.statusCode === 404) throw new SessionLost(error.message)
    if (error instanceof DaemonUnreachable) throw error
    // Frees the card at once. Whether this arrives does not matter to the chip.
    await api.call('DELETE /admin/nfc/sessions/:id', { params: { id } }).catch(() => undefined)
    throw error
  }
}

/** It gives commands one by one. */
export const daemonTooOld = (): CliError =>
  new CliError('The daemon is older than this tapchip, and sets chips up in another way.', {
    advice: 'Update the daemon, or use the tapchip that belongs to it.',
  })

const replyTo = async (
  next: Exclude<Next, { type: 'ended' }>,
  card: Pick<Card, 'transmit'>,
  { stop, onInspected }: SessionHooks,
): Promise<Omit<Reply, 'step'>> => {
  if (next.type === 'inspected' || next.phase === 'inspect') stop.now.throwIfAborted()
  if (next.type === 'inspected') return { details: (await onInspected?.(next)) ?? {} }
  if (!Array.isArray(next.apdus)) throw daemonTooOld()
  const burst = next.apdus.map((apdu) => Buffer.from(apdu, 'hex'))
  const alive = {
    transmit: async (apdu: Uint8Array) => {
      const answer = await card.transmit(apdu)
      stop.alive()
      return answer
    },
  }
  const answers = await unlessAborted(transmitAll(alive, burst), stop.late)
  return { answers: answers.map((answer) => Buffer.from(answer).toString('hex')) }
}
