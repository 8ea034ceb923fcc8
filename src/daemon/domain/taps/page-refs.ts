import * as z from 'zod'
import type { SecretBox } from '../../store/secret-box.ts'

/** The refs that stand on a tap page: its own, and those of its links by their ids. */
export interface PageRefs {
  own: string
  links: [linkId: number, ref: string][]
}

const place = 'pageVisits:refs'
const shape = z.object({ own: z.string(), links: z.array(z.tuple([z.number(), z.string()])) })

/** Refs are stored as hashes; the page that is loaded again needs them as they are. */
export const sealPageRefs = (box: SecretBox, { own, links }: PageRefs): Buffer =>
  box.seal(Buffer.from(JSON.stringify({ own, links })), place)

export const openPageRefs = (box: SecretBox, sealed: Uint8Array): PageRefs =>
  shape.parse(JSON.parse(box.open(sealed, place).toString()))
