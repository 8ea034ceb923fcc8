import { parseUid } from '../../../nfc/uid.ts'
import type { TokenLocation } from '../../store/tokens.ts'
import type { ChipInput, Refusal } from './chip-input.ts'

/** A row's values as text, by column; absent means empty. */
export type RowValues = Readonly<Record<string, string>>

/** Reads the text of a row. What a chip's values must be beyond that is for whoever registers it. */
export function readImportRow(values: RowValues): ChipInput | Refusal {
  const { uid: text, lastCounter, contractAddress, chainId, tokenId } = values
  const uid = text === undefined ? undefined : parseUid(text)
  if (uid && !uid.ok) return { reason: `uid ${uid.reason}` }
  if (lastCounter !== undefined && !/^\d{1,10}$/.test(lastCounter))
    return { reason: 'lastCounter must be a whole number from 0' }
  const token = readToken({ contractAddress, chainId, tokenId })
  if (token && 'reason' in token) return token
  return {
    uid: uid?.uid,
    publicKey: values.publicKey,
    label: values.label,
    redirectUrl: values.redirectUrl,
    item: values.item,
    variant: values.variant,
    fileReadKey: values.fileReadKey,
    lastCounter: lastCounter === undefined ? undefined : Number(lastCounter),
    token,
  }
}

type TokenText = { [name in keyof TokenLocation]: string | undefined }

function readToken({ contractAddress, chainId, tokenId }: TokenText): TokenLocation | Refusal | undefined {
  if (contractAddress === undefined && chainId === undefined && tokenId === undefined) return undefined
  if (contractAddress === undefined || chainId === undefined || tokenId === undefined) {
    return { reason: 'names a token by part: contractAddress, chainId and tokenId belong together' }
  }
  if (!/^0x[0-9a-fA-F]{40}$/.test(contractAddress))
    return { reason: 'contractAddress must be an address: 0x and 40 hex digits' }
  if (!/^[1-9]\d{0,14}$/.test(chainId)) return { reason: 'chainId must be a whole number from 1' }
  if (!/^\d{1,78}$/.test(tokenId) || BigInt(tokenId) >= 2n ** 256n)
    return { reason: 'tokenId must be a decimal token id below 2^256' }
  return { contractAddress, chainId: Number(chainId), tokenId: BigInt(tokenId).toString() }
}
