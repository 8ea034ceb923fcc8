/** Characters that texts of a badge event have at most. */
export const maxEventText = { name: 256, description: 1500, city: 256, country: 256, eventURL: 2048 } as const

/** Maximum number of badges of an event, and per recipient. */
export const maxEventCodes = 1_000_000

/** Empty: none. */
export const isEventUrl = (text: string): boolean =>
  text === '' || (/^https?:\/\/[^\s/]+/i.test(text) && URL.canParse(text))
