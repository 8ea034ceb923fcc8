/** What is counted of chips. One chip may be in several of them; each is registered. */
export const chipStates = [
  'registered',
  'configured',
  'unconfigured',
  'linked',
  'tapped',
  'untapped',
  'opened',
  'disabled',
  'simulated',
] as const
export type ChipState = (typeof chipStates)[number]
