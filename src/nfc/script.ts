import type { Card } from './card.ts'

/**
 * A conversation with a chip, independent of the transport: it yields APDUs, and is resumed with the chip's answers.
 * This lets the daemon keep the keys while the CLI relays the bytes. A script that is abandoned leaves the chip in the
 * state after the last APDU.
 */
export type Script<Result> = Generator<Uint8Array, Result, Uint8Array>

/** Runs a script on a local card. @throws the errors of the script and of `transmit` */
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
