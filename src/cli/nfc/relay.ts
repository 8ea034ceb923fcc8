import { type Card, CardGone, NoCard } from '../../nfc/card.ts'
import { transmitAll } from '../../nfc/script.ts'
import type { AnswerOf, CallArguments } from '../client/types.ts'
import type { CliContext } from '../context.ts'
import { cardForRetry, maxAttempts, type OpenedReaders } from './readers.ts'
import { type Stop, unlessAborted } from './stop.ts'

type Api = Pick<CliContext, 'call'>
type Next = AnswerOf<'POST /admin/nfc/sessions'>['next']
type Reply = NonNullable<CallArguments<'POST /admin/nfc/sessions/:id/answers'>[0]['body']>

export type Order = NonNullable<NonNullable<CallArguments<'POST /admin/nfc/sessions'>[0]>['body']>
/** The result of a session with the daemon. */
export type SessionResult = Extract<Next, { type: 'ended' }>['outcome']
/** The daemon's knowledge of the chip before anything is changed. */
export type Inspected = Extract<Next, { type: 'inspected' }>
export type Details = NonNullable<Reply['details']>

export interface Relay {
  readonly stop: Stop
  /** Called if the order waits for details. If it throws, the session ends without changes. */
  readonly onInspected?: (chip: Inspected) => Promise<Details> | Details
}

/**
 * Carries APDUs between a card and the daemon, which holds the keys. If this throws, the chip may be half written; the
 * daemon's journal knows how to continue. @throws CardError, ApiError, DaemonUnreachable, Interrupted
 */
export const relay = async (
  api: Api,
  card: Card,
  order: Order,
  { stop, onInspected }: Relay,
): Promise<SessionResult> => {
  const atr = Buffer.from(card.atr).toString('hex')
  let { id, step, next } = await api.call('POST /admin/nfc/sessions', { body: { atr, ...order } })
  try {
    while (next.type !== 'ended') {
      const reply = await replyTo(next, card, { stop, ...(onInspected ? { onInspected } : {}) })
      const answered = api.call('POST /admin/nfc/sessions/:id/answers', {
        params: { id },
        body: { step, ...reply },
      })
      ;({ step, next } = await unlessAborted(answered, stop.late))
    }
    return next.outcome
  } catch (error) {
    // Frees the card at once. Whether this arrives does not matter to the chip.
    await api.call('DELETE /admin/nfc/sessions/:id', { params: { id } }).catch(() => undefined)
    throw error
  }
}

const replyTo = async (
  next: Exclude<Next, { type: 'ended' }>,
  card: Card,
  { stop, onInspected }: Relay,
): Promise<Omit<Reply, 'step'>> => {
  if (next.type === 'inspected' || next.phase === 'inspect') stop.now.throwIfAborted()
  if (next.type === 'inspected') return { details: (await onInspected?.(next)) ?? {} }
  const burst = next.apdus.map((apdu) => Buffer.from(apdu, 'hex'))
  const answers = await unlessAborted(transmitAll(card, burst), stop.late)
  return { answers: answers.map((answer) => Buffer.from(answer).toString('hex')) }
}

/**
 * Like relay, but continues with a card that lost contact for a moment and is still on the reader: the daemon knows how
 * far it got. @throws as relay; CardGone if it was lifted
 */
export const relayWithRetry = async (
  ctx: CliContext,
  { all }: Pick<OpenedReaders, 'all'>,
  first: Card,
  order: Order,
  options: Relay,
): Promise<SessionResult> => {
  let card = first
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await relay(ctx, card, order, options)
    } catch (error) {
      const { now } = options.stop
      if (!(error instanceof CardGone) || attempt === maxAttempts) throw error
      if (now.aborted) {
        await card.release()
        throw error
      }
      const again = await cardForRetry(all, card, now).catch((later: unknown) => {
        throw later instanceof NoCard ? error : later
      })
      if (again === undefined) throw error
      card = again
    }
  }
}
