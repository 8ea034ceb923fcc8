import {
  androidApplication,
  besideUri,
  encodeNdef,
  NdefFormatError,
  parseNdef,
  textRecord,
} from '../../../nfc/ndef.ts'
import { ChipStatusError } from '../../../nfc/ntag424/errors.ts'
import { hasFactoryKeys, type Inspection } from '../../../nfc/provision/inspect.ts'
import type { PlannedUrl } from '../../../nfc/provision/plan.ts'
import { readNdefFile, selectApplication } from '../../../nfc/type4.ts'
import type { KnownChip } from './known-chip.ts'
import { type ChipRequest, type Reply, runScript, type Step } from './session.ts'

/** What a chip holds besides the URL of its key set's template. */
export type UrlContent = Pick<PlannedUrl, 'fileData' | 'records'>

/** As a caller says it; undefined: what the chip has, empty: nothing. */
export interface RequestedContent {
  readonly fileData?: string | undefined
  /** The package of an Android app that a tap opens. */
  readonly aar?: string | undefined
  /** A text record. */
  readonly text?: string | undefined
}

/** What was asked for, and otherwise what the chip has. Its records are read from it if they were not written here. */
export async function* contentFor(
  {
    content: { fileData, aar, text },
    supplied,
  }: Pick<ChipRequest, 'supplied'> & { content: RequestedContent },
  { open, last }: Pick<KnownChip, 'open' | 'last'>,
  inspection: Inspection,
  rekey: boolean,
): AsyncGenerator<Step, UrlContent, Reply> {
  const written = (open ?? last)?.plan.template
  const isForeign = rekey && !written && (supplied.length > 0 || !hasFactoryKeys(inspection))
  const records =
    aar !== undefined || text !== undefined
      ? recordsOf({ aar, text })
      : isForeign
        ? yield* recordsShown()
        : (written?.records ?? '')
  const data = fileData ?? written?.fileData
  return { ...(data ? { fileData: data } : {}), ...(records ? { records } : {}) }
}

export const recordsOf = ({ aar, text }: Pick<RequestedContent, 'aar' | 'text'>): string =>
  encodeNdef([...(aar ? [androidApplication(aar)] : []), ...(text ? [textRecord(text)] : [])]).toString('hex')

/** The records behind the URL of a chip that another system set up. */
async function* recordsShown(): AsyncGenerator<Step, string, Reply> {
  try {
    yield* runScript(selectApplication(), 'inspect')
    const file = yield* runScript(readNdefFile(), 'inspect')
    return encodeNdef(besideUri(parseNdef(file.subarray(2)))).toString('hex')
  } catch (error) {
    // Reading needs a key, or there is no message.
    if (error instanceof ChipStatusError || error instanceof NdefFormatError) return ''
    throw error
  }
}
