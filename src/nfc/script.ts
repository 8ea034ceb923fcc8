import type { Card } from './card.ts'

/**
 * A conversation with a chip, whoever carries it: yields an APDU, is resumed with the chip's answer, and returns
 * what it learnt. So the daemon can hold the conversation and its keys while the CLI relays the bytes.
 * One that is dropped in the middle, or resumed by `throw`, leaves the chip where the last APDU put it.
 */
export type Script<Result> = Generator<Uint8Array, Result, Uint8Array>

/** Runs a script on a card that is at hand. @throws what the script throws, and what `transmit` throws */
export async function runScript<Result>(
  card: Pick<Card, 'transmit'>,
  script: Script<Result>,
): Promise<Result> {
  let step = script.next()
  while (!step.done) {
    const answer = await card.transmit(step.value)
    step = script.next(answer)
  }
  return step.value
}
