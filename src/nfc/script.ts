import type { Card } from './card.ts'
import { hasSucceeded } from './ntag424/errors.ts'

/**
 * APDUs that travel together, since no byte of one depends on an answer to another. They are sent in order, until an
 * answer has a status other than 9000, 9100, 9190 and 91AF.
 */
export type Burst = readonly Uint8Array[]

/** The largest Lc of a command: readers that pass less fail on it, and most pass more. */
export const MAX_LC = 96
/** The largest Lc that an ACR122U passes. */
export const SHORT_LC = 59

/** The answers to a burst, in its order. Those after a failed one are missing. */
type Answers = readonly Uint8Array[]

/**
 * A conversation with a chip, independent of the transport: it yields bursts of APDUs, and is resumed with the chip's
 * answers. This lets the daemon keep the keys while the CLI relays the bytes. A script that is abandoned leaves the chip
 * in the state after the last APDU.
 */
export type Script<Result> = Generator<Burst, Result, Answers>

/** Sends one APDU. */
export function* send(apdu: Uint8Array): Script<Uint8Array> {
  const [answer] = yield [apdu]
  return answer ?? Buffer.alloc(0)
}

type Results<Scripts extends readonly Script<unknown>[]> = {
  -readonly [At in keyof Scripts]: Scripts[At] extends Script<infer Result> ? Result : never
}

/**
 * Runs scripts in order, and lets their first bursts travel as one. Only the last one may have another burst, or survive
 * a failed command. @throws the error of the first that fails
 */
export function* together<const Scripts extends readonly Script<unknown>[]>(
  scripts: Scripts,
): Script<Results<Scripts>> {
  const steps = scripts.map((script) => script.next())
  const bursts = steps.map((step) => (step.done ? [] : step.value))
  let remaining = yield bursts.flat()
  const results: unknown[] = []
  for (const [at, script] of scripts.entries()) {
    let step = steps[at]
    const length = bursts[at]?.length ?? 0
    if (step && !step.done) {
      if (remaining.length === 0) throw new Error('A command was not sent, because one before it failed')
      step = script.next(remaining.slice(0, length))
      remaining = remaining.slice(length)
    }
    while (step && !step.done) {
      if (at < scripts.length - 1) throw new Error('Only the last script may have another burst')
      step = script.next(yield step.value)
    }
    results.push(step?.value)
  }
  return results as Results<Scripts>
}

/** Runs a script on a local card. @throws the errors of the script and of `transmit` */
export async function runScript<Result>(
  card: Pick<Card, 'transmit'>,
  script: Script<Result>,
): Promise<Result> {
  let step = script.next()
  while (!step.done) step = script.next(await transmitAll(card, step.value))
  return step.value
}

/** Sends a burst to a card, up to the first command that fails. @throws the errors of `transmit` */
export async function transmitAll(card: Pick<Card, 'transmit'>, burst: Burst): Promise<Uint8Array[]> {
  const answers: Uint8Array[] = []
  for (const apdu of burst) {
    const answer = await card.transmit(apdu)
    answers.push(answer)
    if (!hasSucceeded(answer)) break
  }
  return answers
}
