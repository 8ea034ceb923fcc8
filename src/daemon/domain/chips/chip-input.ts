import { haloUid } from '../../../nfc/halo/tap.ts'
import { parseUid } from '../../../nfc/uid.ts'
import { type ChipValues, problemsOf } from '../../../values/chip-row.ts'
import { canonicalTokenId } from '../../../values/token.ts'
import type { TokenLocation } from '../../store/phygitals/tokens.ts'
import type { KeyRing } from './key-ring.ts'

export interface ChipInput {
  /** Decimal. Optional for HaLo chips: it is derived from the public key. */
  uid?: string | undefined
  /** Uncompressed pk2 of a HaLo chip, hex. */
  publicKey?: string | undefined
  label?: string | undefined
  redirectUrl?: string | null | undefined
  item?: string | undefined
  variant?: string | undefined
  token?: TokenLocation | undefined
  /** Last accepted tap counter of a chip that is already in use. */
  lastCounter?: number | undefined
  /** 32 hex digits. */
  fileReadKey?: string | undefined
  /** Number of rekeyings; 0 if absent. */
  generation?: number | undefined
}

export interface CheckedChip {
  readonly uid: string
  readonly family: 'ntag424' | 'halo'
  readonly keySetId: number | null
  /** Upper-case hex. */
  readonly publicKey: string | null
  readonly fileReadKey: Buffer | null
  /** True if only the UID was given. */
  readonly isBare: boolean
  readonly input: ChipInput
}

export type Refusal = { readonly reason: string }
/** Decimal if the UID is valid. */
type RowRefusal = Refusal & { readonly uid?: string | undefined }

interface Deps {
  keyRing: Pick<KeyRing, 'get'>
}

const refuse = (reason: string): Refusal => ({ reason })

export function readRow(values: ChipValues): ChipInput | RowRefusal {
  const parsed = values.uid === undefined ? undefined : parseUid(values.uid)
  if (parsed && !parsed.ok) return refuse(`uid ${parsed.reason}`)
  const uid = parsed?.uid
  if (isUidAlone(values)) return { uid }
  const reason = reasonAgainst(values)
  if (reason !== undefined) return { reason, uid }
  const { contractAddress, chainId, tokenId, lastCounter, ...texts } = values
  const isLinked = contractAddress !== undefined && tokenId !== undefined
  return {
    ...texts,
    uid,
    lastCounter: lastCounter === undefined ? undefined : Number(lastCounter),
    token: isLinked
      ? { contractAddress, chainId: Number(chainId), tokenId: canonicalTokenId(tokenId) }
      : undefined,
  }
}

// Imports call this for up to a million rows.
function isUidAlone(values: ChipValues): boolean {
  for (const column in values) if (column !== 'uid') return false
  return true
}

function reasonAgainst(values: ChipValues): string | undefined {
  for (const { columns, reason } of problemsOf(values)) return `${columns.join(', ')} ${reason}`
  return undefined
}

/** @param keySetId the key set of NTAG chips */
export function checkChip(deps: Deps, keySetId: number | null, input: ChipInput): CheckedChip | Refusal {
  const { redirectUrl, lastCounter, token } = input
  const reason = reasonAgainst({
    ...input,
    redirectUrl: redirectUrl || undefined,
    lastCounter: lastCounter === undefined ? undefined : String(lastCounter),
    contractAddress: token?.contractAddress,
    chainId: token && String(token.chainId),
    tokenId: token?.tokenId,
  })
  return reason === undefined ? fitChip(deps, keySetId, input) : refuse(reason)
}

/** Skips the checks that readRow has already made. */
export function fitChip(deps: Deps, keySetId: number | null, input: ChipInput): CheckedChip | Refusal {
  return input.publicKey === undefined ? checkNtag(deps, keySetId, input) : checkHalo(input, input.publicKey)
}

// Written out for speed: imports call this for up to a million chips.
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

function checkNtag({ keyRing }: Deps, keySetId: number | null, input: ChipInput): CheckedChip | Refusal {
  const { uid, fileReadKey: given } = input
  if (uid === undefined) return refuse('uid is missing: give it, or the publicKey of a HaLo chip')
  if (keySetId === null)
    return refuse('keySet is missing: name the key set that verifies the taps of the chip')
  const isListed = keyRing.get(keySetId)?.diversification === 'listed'
  if (isListed && given === undefined) {
    return refuse(`fileReadKey is missing: the key set ${keySetId} stores a separate key for each chip`)
  }
  if (!isListed && given !== undefined) {
    return refuse(`fileReadKey must not be given: the key set ${keySetId} derives it`)
  }
  const fileReadKey = given === undefined ? null : Buffer.from(given, 'hex')
  return {
    uid,
    family: 'ntag424',
    keySetId,
    publicKey: null,
    fileReadKey,
    isBare: !hasMore(input),
    input,
  }
}

function checkHalo(input: ChipInput, text: string): CheckedChip | Refusal {
  if ((input.generation ?? 0) !== 0) return refuse('generation must not be given: a HaLo chip has none')
  const publicKey = text.toUpperCase()
  const uid = input.uid ?? haloUid(Buffer.from(text, 'hex'))
  return { uid, family: 'halo', keySetId: null, publicKey, fileReadKey: null, isBare: false, input }
}
