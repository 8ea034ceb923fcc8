import { type Card, CardGone, NoCard } from '../../nfc/card.ts'
import type { AnswerOf, CallArguments } from '../client/types.ts'
import type { CliContext } from '../context.ts'
import { cardForRetry, maxAttempts, type OpenedReaders } from './readers.ts'
import { type Stop, unlessAborted } from './stop.ts'

type Api = Pick<CliContext, 'call'>
type Next = AnswerOf<'POST /admin/nfc/sessions'>['next']
type Reply = NonNullable<CallArguments<'POST /admin/nfc/sessions/:id/answers'>[0]['body']>

/** What is asked of the daemon for a card. */
export type Order = NonNullable<NonNullable<CallArguments<'POST /admin/nfc/sessions'>[0]>['body']>
/** How the daemon says that it ended. */
export type SessionResult = Extract<Next, { type: 'ended' }>['outcome']
/** What the daemon knows of the chip before anything is done to it. */
export type Inspected = Extract<Next, { type: 'inspected' }>
/** What the chip is to get. */
export type Details = NonNullable<Reply['details']>

export interface Relay {
  readonly stop: Stop
  /** Asked where the order waits for it. What it throws ends the session, with nothing done. */
  readonly onInspected?: (chip: Inspected) => Promise<Details> | Details
}

/**
 * Carries APDUs between a card and the daemon, which holds the keys. The chip may be torn when this throws; the
 * daemon's journal then knows how to go on. @throws CardError, ApiError, DaemonUnreachable, Interrupted
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
    // So that the card may come back at once. Whether this arrives changes nothing about the chip.
    await api.call('DELETE /admin/nfc/sessions/:id', { params: { id } }).catch(() => undefined)
    throw error
  }
}

const replyTo = async (
  next: Exclude<Next, { type: 'ended' }>,
  card: Card,
  { stop, onInspected }: Relay,
): Promise<Omit<Reply, 'step'>> => {
  // Nothing is begun yet.
  if (next.type === 'inspected' || next.phase === 'inspect') stop.now.throwIfAborted()
  if (next.type === 'inspected') return { details: (await onInspected?.(next)) ?? {} }
  const answer = await unlessAborted(card.transmit(Buffer.from(next.apdu, 'hex')), stop.late)
  return { answer: Buffer.from(answer).toString('hex') }
}

/**
 * As relay, but goes on with a card that lost its field for a moment and is still on the reader: the daemon knows how
 * far it got. @throws as relay; CardGone when it was lifted
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
