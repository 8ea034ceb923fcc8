import { haloPublicKey, haloUid, parseHaloPublicKey } from '../../../nfc/halo/tap.ts'
import type { TokenLocation } from '../../store/tokens.ts'
import type { KeyRing } from './key-ring.ts'
import { checkRedirectUrl } from './redirect.ts'

/** A chip as somebody registers it. What is absent is not asked for. */
export interface ChipInput {
  /** Decimal. A HaLo chip may leave it to its public key. */
  uid?: string | undefined
  /** Makes it a HaLo chip: pk2, uncompressed, hex. */
  publicKey?: string | undefined
  label?: string | undefined
  redirectUrl?: string | null | undefined
  item?: string | undefined
  variant?: string | undefined
  token?: TokenLocation | undefined
  /** The last tap counter that counts as used: of chips that are in the field already. */
  lastCounter?: number | undefined
  /** 32 hex digits. */
  fileReadKey?: string | undefined
  /** How often it was personalised again; 0 if absent. */
  generation?: number | undefined
}

/** A chip that is fit to be registered as far as it tells by itself. */
export interface CheckedChip {
  readonly uid: string
  readonly family: 'ntag424' | 'halo'
  readonly keySetId: number | null
  /** Upper-case hex. */
  readonly publicKey: string | null
  readonly fileReadKey: Buffer | null
  /** Nothing else but its UID was given. */
  readonly isBare: boolean
  readonly given: ChipInput
}

export type Refusal = { readonly reason: string }

interface Deps {
  keyRing: Pick<KeyRing, 'get'>
}

const refuse = (reason: string): Refusal => ({ reason })

/** @param keySetId the key set of the NTAG chips among them */
export function checkChip(deps: Deps, keySetId: number | null, input: ChipInput): CheckedChip | Refusal {
  const isBare = !hasMore(input)
  if (!isBare) {
    const reason = checkValues(input)
    if (reason !== undefined) return refuse(reason)
  }
  return input.publicKey === undefined
    ? checkNtag(deps, keySetId, input, isBare)
    : checkHalo(input, input.publicKey)
}

// By hand, since a million chips pass here.
const hasMore = (input: ChipInput): boolean =>
  input.publicKey !== undefined ||
  input.label !== undefined ||
  (input.redirectUrl !== undefined && input.redirectUrl !== null) ||
  input.item !== undefined ||
  input.variant !== undefined ||
  input.token !== undefined ||
  input.lastCounter !== undefined ||
  input.fileReadKey !== undefined ||
  (input.generation !== undefined && input.generation !== 0)

function checkNtag(
  { keyRing }: Deps,
  keySetId: number | null,
  input: ChipInput,
  isBare: boolean,
): CheckedChip | Refusal {
  const { uid, fileReadKey: given } = input
  if (uid === undefined) return refuse('uid is missing: give it, or the publicKey of a HaLo chip')
  if (keySetId === null) return refuse('has no key set: say which one its taps are verified with')
  const isListed = keyRing.get(keySetId)?.diversification === 'listed'
  if (isListed && given === undefined) {
    return refuse(
      `fileReadKey is missing: the key set ${keySetId} has the keys of its chips listed, chip by chip`,
    )
  }
  if (!isListed && given !== undefined) {
    return refuse(`fileReadKey must not be given: the key set ${keySetId} derives it`)
  }
  if ((input.lastCounter ?? 0) > 0xffffff) return refuse('lastCounter must be at most 16777215')
  const fileReadKey = given === undefined ? null : Buffer.from(given, 'hex')
  return { uid, family: 'ntag424', keySetId, publicKey: null, fileReadKey, isBare, given: input }
}

function checkHalo(input: ChipInput, text: string): CheckedChip | Refusal {
  const pk2 = parseHaloPublicKey(text)
  if (!pk2 || !haloPublicKey(pk2)) {
    return refuse('publicKey must be an uncompressed public key: 130 hex digits that begin with 04')
  }
  if (input.fileReadKey !== undefined) return refuse('fileReadKey must not be given: a HaLo chip has none')
  if ((input.generation ?? 0) !== 0) return refuse('generation must not be given: a HaLo chip has none')
  const publicKey = pk2.toString('hex').toUpperCase()
  const uid = input.uid ?? haloUid(pk2)
  return { uid, family: 'halo', keySetId: null, publicKey, fileReadKey: null, isBare: false, given: input }
}

const isText = (text: string, max: number): boolean =>
  text.trim() !== '' && text.length <= max && !text.includes('\0') && text.isWellFormed()

function checkValues({
  label,
  redirectUrl,
  item,
  variant,
  lastCounter,
  fileReadKey,
}: ChipInput): string | undefined {
  if (label !== undefined && !isText(label, 200)) return 'label must be 1 to 200 characters of text'
  if (item !== undefined && !isText(item, 64)) return 'item must be the id of an item'
  if (variant !== undefined && !isText(variant, 64)) return "variant must be the id of an item's variant"
  if (variant !== undefined && item === undefined) return 'item is missing: a variant belongs to an item'
  if (redirectUrl) {
    const reason =
      redirectUrl.length > 4096 ? 'must be at most 4096 characters' : checkRedirectUrl(redirectUrl)
    if (reason) return `redirectUrl ${reason}`
  }
  if (
    lastCounter !== undefined &&
    !(Number.isInteger(lastCounter) && lastCounter >= 0 && lastCounter <= 0xffffffff)
  ) {
    return 'lastCounter must be a whole number from 0'
  }
  // The value itself is a secret: no message repeats it.
  if (fileReadKey !== undefined && !/^[0-9a-fA-F]{32}$/.test(fileReadKey))
    return 'fileReadKey must be 32 hex digits'
  return undefined
}
