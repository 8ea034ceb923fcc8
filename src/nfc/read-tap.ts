import { haloUrlParameters } from './halo/tap.ts'
import { ntag424Version, selectTag } from './identify.ts'
import { parseNdef, textsIn, uriIn } from './ndef.ts'
import { ChipStatusError } from './ntag424/errors.ts'
import { queryOf } from './ntag424/template/match.ts'
import type { Script } from './script.ts'
import { readNdefFile } from './type4.ts'

/** Contains the one-time codes of a tap: never log it. */
export interface TapRead {
  readonly family: 'ntag424' | 'halo'
  /** null when the chip is not set up. */
  readonly url: string | null
  /** Parameters of an NTAG 424 under their default names, exactly as in the URL. */
  readonly e: string | null
  readonly c: string | null
  readonly d: string | null
}

export interface ReadTap {
  /** The card's ATR, used to name a card that is not a tag. */
  readonly atr?: Uint8Array
}

/**
 * Taps a card as a phone does. A chip's counter rises by exactly one.
 * @throws UnknownCard, NdefFormatError, AnswerFormatError
 */
export function* readTap({ atr }: ReadTap = {}): Script<TapRead> {
  yield* selectTag(atr)
  const { url, texts } = yield* readRecords()
  // A HaLo can be configured to show its URL as a text, so that phones do not open it: libhalo, cfg_ndef.
  const halo = [url, ...texts].find((one) => one !== null && haloUrlParameters(one))
  if (halo) return { family: 'halo', url: halo, e: null, c: null, d: null }
  // Identifying the chip after its only read does not raise the counter again.
  yield* ntag424Version()
  const { e, c, d } = queryOf(url ?? '')
  if (e === undefined || c === undefined) return { family: 'ntag424', url, e: null, c: null, d: null }
  return { family: 'ntag424', url, e, c, d: d ?? null }
}

/** The URL on a selected tag is null when there is none, or when reading needs a key. */
function* readRecords(): Script<{ url: string | null; texts: readonly string[] }> {
  let file: Buffer
  try {
    file = yield* readNdefFile()
  } catch (error) {
    if (error instanceof ChipStatusError) return { url: null, texts: [] }
    throw error
  }
  const records = parseNdef(file.subarray(2))
  return { url: uriIn(records) ?? null, texts: textsIn(records) }
}
