import { contrast, withContrast } from './contrast.ts'
import { mediaUrl } from './media-url.ts'

/** A page's own background in light, for teams without one of their own. */
export const plainBackground = '#fbfaf7'

/** WCAG 2.2, 1.4.11: what a button needs to be seen. The page chooses the colours of text to suit any background. */
export const neededContrast = 3

/**
 * Buttons and links have the colour, and stand on the background.
 * @param color `#rrggbb` @param background `#rrggbb`; null: the page's own
 * @returns the reason for a rejection, which can follow a field's name
 */
export function checkBrandColors(color: string, background: string | null): string | undefined {
  const on = background ?? plainBackground
  if (contrast(color, on) >= neededContrast) return undefined
  const named = background === null ? `the page's own background (${on})` : `the background ${on}`
  // Rounded down, so that 2.97 is not shown as the 3 that it lacks.
  const has = Math.floor(contrast(color, on) * 10) / 10
  return `cannot be seen well on ${named}: its contrast is ${has}:1, and ${neededContrast}:1 is needed. The nearest that can: ${withContrast(color, on, neededContrast)}`
}

// A URL fits whatever the gateways are.
const anyGateways = { ipfs: 'https://ipfs.io', arweave: 'https://arweave.net' }

/** @returns the reason for a rejection, which can follow a field's name */
export const checkLogoUrl = (url: string): string | undefined =>
  mediaUrl(url, anyGateways) === undefined
    ? 'must be a whole https:// URL without credentials, ipfs:// with its CID, or ar:// with its ID'
    : undefined
