export const refusedOutcomes = [
  'replayed',
  'caught-up',
  'wrong-mac',
  'disabled',
  'unknown-chip',
  'unknown-key-set',
] as const

/** How a tap came: from an app, a phone on the tap page, or whoever sets chips up and checks them. */
export const tapSources = ['find', 'page', 'setup'] as const
export type TapSource = (typeof tapSources)[number]

/** How the log of taps names what became of a tap. */
export const tapOutcomes = ['valid', ...refusedOutcomes] as const
export type TapOutcome = (typeof tapOutcomes)[number]
