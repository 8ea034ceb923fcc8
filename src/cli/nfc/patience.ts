import { type Card, CardGone, NoCard } from '../../nfc/card.ts'
import type { CliContext } from '../context.ts'
import { againMs, leaves, patientTimes } from './leaves.ts'
import type { OpenedReaders } from './readers.ts'
import { type Order, type Outcome, type Relay, relay } from './relay.ts'

/**
 * As relay, but a card that lost its field for a moment and lies there still is gone on with: the daemon knows where
 * it was. @throws as relay; CardGone when it was lifted
 */
export const relayPatiently = async (
  ctx: CliContext,
  { all }: Pick<OpenedReaders, 'all'>,
  first: Card,
  order: Order,
  options: Relay,
): Promise<Outcome> => {
  let card = first
  for (let times = 1; ; times += 1) {
    try {
      return await relay(ctx, card, order, options)
    } catch (error) {
      if (!(error instanceof CardGone) || times === patientTimes) throw error
      await card.release()
      const { now } = options.stop
      if (now.aborted || (await leaves(card, now))) throw error
      card = await all
        .waitForCard({ reader: card.reader, timeoutMs: againMs, signal: now })
        .catch((later: unknown) => {
          throw later instanceof NoCard ? error : later
        })
    }
  }
}
