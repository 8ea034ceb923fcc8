import { haloUrlParameters } from './halo/url.ts'
import { ntag424Version, selectTag } from './identify.ts'
import { parseNdef, uriIn } from './ndef.ts'
import { ChipStatusError } from './ntag424/errors.ts'
import { tapIn, type UrlTemplate } from './ntag424/url-template.ts'
import type { Script } from './script.ts'
import { readNdefFile } from './type4.ts'

/** What a card shows when it is tapped. Codes of a tap are in here: log none of it. */
export interface TapRead {
  readonly family: 'ntag424' | 'halo'
  /** null: a chip that was not set up. */
  readonly url: string | null
  /** Of an NTAG 424, by the template's parameter names; as they stand in the URL. */
  readonly e: string | null
  readonly c: string | null
  readonly d: string | null
}

export interface ReadTap {
  /** The parameter names of the key sets there are; the first that fit a URL are used. Default: e, c and d. */
  readonly templates?: readonly UrlTemplate['names'][]
  /** Of the card, to name one that is no tag. */
  readonly atr?: Uint8Array
}

const USUAL: UrlTemplate['names'] = { e: 'e', c: 'c', d: 'd' }

/**
 * Taps a card as a phone does; of a chip with a counter it takes exactly one count.
 * @throws UnknownCard, NdefFormatError, AnswerFormatError
 */
export function* readTap({ templates = [USUAL], atr }: ReadTap = {}): Script<TapRead> {
  yield* selectTag(atr)
  const url = yield* readUrl()
  if (url !== null && haloUrlParameters(url)) return { family: 'halo', url, e: null, c: null, d: null }
  // After the read, and no read follows: this costs no count.
  yield* ntag424Version()
  const tap = url === null ? undefined : templates.map((names) => tapIn(url, names)).find((one) => one)
  return { family: 'ntag424', url, e: tap?.e ?? null, c: tap?.c ?? null, d: tap?.d ?? null }
}

/** The URL on a selected tag; null when there is none, or it is not for everybody to read. */
function* readUrl(): Script<string | null> {
  let file: Buffer
  try {
    file = yield* readNdefFile()
  } catch (error) {
    if (error instanceof ChipStatusError) return null
    throw error
  }
  return uriIn(parseNdef(file.subarray(2))) ?? null
}
