export const refusedOutcomes = [
  'replayed',
  'caught-up',
  'wrong-mac',
  'disabled',
  'unknown-chip',
  'unknown-key-set',
] as const

/** How the log of taps names what became of a tap. */
export const tapOutcomes = ['valid', ...refusedOutcomes] as const
export type TapOutcome = (typeof tapOutcomes)[number]
