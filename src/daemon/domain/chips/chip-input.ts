import { haloUid } from '../../../nfc/halo/tap.ts'
import { parseUid } from '../../../nfc/uid.ts'
import { bareHex } from '../../../values/aes-key.ts'
import { type ChipCells, reasonAgainst, valueOfCell } from '../../../values/chip-columns.ts'
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
  /** 32 hex digits; absent: that of the key set. */
  metaReadKey?: string | undefined
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
  readonly metaReadKey: Buffer | null
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

/** @param cells of a chip that is to be registered */
export function readRow(cells: ChipCells): ChipInput | RowRefusal {
  const parsed = cells.uid ? parseUid(cells.uid) : undefined
  if (parsed && !parsed.ok) return refuse(`uid ${parsed.reason}`)
  const uid = parsed?.uid
  if (isUidAlone(cells)) return { uid }
  const reason = reasonAgainst(cells, true)
  if (reason !== undefined) return { reason, uid }
  const { contractAddress, tokenId } = cells
  const number = (column: 'chainId' | 'lastCounter') => valueOfCell(column, cells[column] ?? '') ?? undefined
  return {
    uid,
    publicKey: cells.publicKey || undefined,
    label: cells.label || undefined,
    redirectUrl: cells.redirectUrl || undefined,
    item: cells.item || undefined,
    variant: cells.variant || undefined,
    fileReadKey: cells.fileReadKey || undefined,
    metaReadKey: cells.metaReadKey || undefined,
    lastCounter: number('lastCounter'),
    token:
      contractAddress && tokenId
        ? { contractAddress, chainId: number('chainId') ?? 0, tokenId: valueOfCell('tokenId', tokenId) ?? '' }
        : undefined,
  }
}

// Imports call this for up to a million rows.
function isUidAlone(cells: ChipCells): boolean {
  for (const column in cells) if (column !== 'uid') return false
  return true
}

/** @param keySetId the key set of NTAG chips */
export function checkChip(deps: Deps, keySetId: number | null, input: ChipInput): CheckedChip | Refusal {
  const { token, redirectUrl, ...rest } = input
  const values = Object.entries({ ...rest, ...token, redirectUrl: redirectUrl ?? undefined })
  const cells = values.flatMap(([column, value]) => (value === undefined ? [] : [[column, String(value)]]))
  const reason = reasonAgainst(Object.fromEntries(cells), true)
  return reason === undefined ? validateChip(deps, keySetId, input) : refuse(reason)
}

/** Skips the checks that readRow has already made. */
export function validateChip(deps: Deps, keySetId: number | null, input: ChipInput): CheckedChip | Refusal {
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
  input.metaReadKey !== undefined ||
  (input.generation !== undefined && input.generation !== 0)

function checkNtag({ keyRing }: Deps, keySetId: number | null, input: ChipInput): CheckedChip | Refusal {
  const { uid, fileReadKey: keyInput, metaReadKey } = input
  if (uid === undefined) return refuse('uid is missing: give it, or the publicKey of a HaLo chip')
  if (keySetId === null)
    return refuse('keySet is missing: name the key set that verifies the taps of the chip')
  const isListed = keyRing.get(keySetId)?.diversification === 'listed'
  if (isListed && keyInput === undefined) {
    return refuse(`fileReadKey is missing: the key set ${keySetId} stores a separate key for each chip`)
  }
  if (!isListed && keyInput !== undefined) {
    return refuse(`fileReadKey must not be given: the key set ${keySetId} derives it`)
  }
  if (!isListed && metaReadKey !== undefined) {
    return refuse(`metaReadKey must not be given: the chips of the key set ${keySetId} share one`)
  }
  const fileReadKey = keyInput === undefined ? null : Buffer.from(bareHex(keyInput), 'hex')
  return {
    uid,
    family: 'ntag424',
    keySetId,
    publicKey: null,
    fileReadKey,
    metaReadKey: metaReadKey === undefined ? null : Buffer.from(bareHex(metaReadKey), 'hex'),
    isBare: !hasMore(input),
    input,
  }
}

function checkHalo(input: ChipInput, text: string): CheckedChip | Refusal {
  if ((input.generation ?? 0) !== 0) return refuse('generation must not be given: a HaLo chip has none')
  const publicKey = text.toUpperCase()
  const uid = input.uid ?? haloUid(Buffer.from(text, 'hex'))
  return {
    uid,
    family: 'halo',
    keySetId: null,
    publicKey,
    fileReadKey: null,
    metaReadKey: null,
    isBare: false,
    input,
  }
}
