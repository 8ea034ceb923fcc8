/**
 * The reason why an unsettled transaction waits. `gas`: it needs more than it may use. `block`: a node has it, and no block
 * contains it.
 */
export const waitingKinds = [
  'fees',
  'funds',
  'gas-estimate',
  'gas',
  'builder',
  'signer',
  'node',
  'block',
] as const

export type WaitingReason = (typeof waitingKinds)[number]

/** Example: `node: transaction type not supported`. */
export const waitingText = (waiting: WaitingReason | null, detail: string | null): string | null =>
  waiting === null || detail === null ? waiting : `${waiting}: ${detail}`

/** The parts of such a text; undefined if its kind is one of a later version. */
export function waitingParts(text: string): { kind: WaitingReason | undefined; detail: string | undefined } {
  const at = text.indexOf(': ')
  const name = at < 0 ? text : text.slice(0, at)
  return { kind: waitingKinds.find((one) => one === name), detail: at < 0 ? undefined : text.slice(at + 2) }
}
