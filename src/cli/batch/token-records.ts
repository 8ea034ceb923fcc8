import { isNumber, isRecord, isText } from './record-parts.ts'

/** The token that a row is about, or the chip that carries it. A UID is decimal. */
export type TokenTarget =
  | { readonly uid: string }
  | { readonly contractAddress: string; readonly chainId: number; readonly tokenId: string }

export type Metadata = Readonly<Record<string, unknown>>

/**
 * `recipient` is an address, or a name that the check could not look up. `owner` had the token before; null: nobody;
 * undefined: it is not known.
 */
export interface TransferRow {
  readonly row: number
  readonly target: TokenTarget
  readonly recipient: string
  readonly owner?: string | null
}

/** `previous` is what the token had before the batch, as far as it was seen; null: nothing. */
export interface MetadataRow {
  readonly row: number
  readonly target: TokenTarget
  readonly metadata: Metadata
  readonly expected?: Metadata
  readonly previous?: Metadata | null
}

export type OutcomeStatus = 'transferred' | 'queued' | 'changed' | 'unchanged' | 'failed'

/** A row's end. `queued`: the daemon owes it, and its hash is not known yet. */
export interface Outcome {
  readonly row: number
  readonly status: OutcomeStatus
  readonly initialTxHash?: string
  readonly error?: string
}

export type TokenLine =
  | ({ readonly type: 'transfer' } & TransferRow)
  | ({ readonly type: 'metadata' } & MetadataRow)
  | ({ readonly type: 'outcome' } & Outcome)

const statuses: readonly OutcomeStatus[] = ['transferred', 'queued', 'changed', 'unchanged', 'failed']

const targetFrom = (value: unknown): TokenTarget | undefined => {
  if (!isRecord(value)) return undefined
  const { uid, contractAddress, chainId, tokenId } = value
  if (isText(uid)) return { uid }
  return isText(contractAddress) && isNumber(chainId) && isText(tokenId)
    ? { contractAddress, chainId, tokenId }
    : undefined
}

export const tokenLineFrom = (line: Readonly<Record<string, unknown>>): TokenLine | undefined => {
  const { type, row, recipient, owner, metadata, expected, previous, initialTxHash, error } = line
  if (!isNumber(row)) return undefined
  const target = targetFrom(line.target)
  if (type === 'transfer' && target && isText(recipient))
    return { type, row, target, recipient, ...(owner === null || isText(owner) ? { owner } : {}) }
  if (type === 'metadata' && target && isRecord(metadata)) {
    const before = previous === null || isRecord(previous) ? { previous } : {}
    return { type, row, target, metadata, ...(isRecord(expected) ? { expected } : {}), ...before }
  }
  const status = statuses.find((known) => known === line.status)
  if (type !== 'outcome' || status === undefined) return undefined
  return {
    type,
    row,
    status,
    ...(isText(initialTxHash) ? { initialTxHash } : {}),
    ...(isText(error) ? { error } : {}),
  }
}
