import * as z from 'zod'
import type { CarriedChip } from '../../store/carried-chips.ts'
import type { RefOfChip } from '../../store/refs.ts'
import type { SecretBox } from '../../store/secret-box.ts'

/** The codes of a page's tap, once its first action has made them. */
export interface PageCodes {
  /** ISO 8601 */
  endsAt: string
  /** Of the token, or of the one to be minted. */
  claim?: string | undefined
  badges: [eventId: number, code: string][]
  guestbooks: [eventId: number, code: string][]
}

/** Given to a tap page: its own ref, those of its links by link ID, and its codes. */
export interface PageSecrets {
  own: string
  links: [linkId: number, ref: string][]
  codes?: PageCodes | undefined
}

/** A tap page, found by its own ref: the chip, the tap, and what the page was given. */
export interface Visit {
  ref: RefOfChip & Pick<CarriedChip, 'carried'>
  secrets: PageSecrets
  cookieHash: string
  /** When the page cannot be loaded again; ISO 8601. */
  expiresAt: string
}

const sealContext = 'pageVisits:refs'
const pairs = z.array(z.tuple([z.number(), z.string()]))
const codes = z.object({
  endsAt: z.string(),
  claim: z.string().optional(),
  badges: pairs,
  guestbooks: pairs,
})
const shape = z.object({ own: z.string(), links: pairs, codes: codes.optional() })

/** Refs and codes are stored as hashes, but a page that is loaded again needs the originals. */
export const sealSecrets = (box: SecretBox, secrets: PageSecrets): Buffer =>
  box.seal(Buffer.from(JSON.stringify(secrets)), sealContext)

export const openSecrets = (box: SecretBox, sealed: Uint8Array): PageSecrets =>
  shape.parse(JSON.parse(box.open(sealed, sealContext).toString()))
