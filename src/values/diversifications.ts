/** How the keys of a key set's chips come from its own. See fileReadKeys. */
export const diversifications = [
  'none',
  'an10922',
  'boltcard',
  'sdm-backend',
  'sdm-backend-legacy',
  'listed',
] as const

export type Diversification = (typeof diversifications)[number]

export const diversificationRule =
  'must be none, an10922, boltcard, sdm-backend, sdm-backend-legacy or listed'

/** The others verify chips that other tools set up. */
export const canSetUpChips = (diversification: Diversification): boolean =>
  diversification === 'none' || diversification === 'an10922'
