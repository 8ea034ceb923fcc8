import { type Hex, hashTypedData } from 'viem'
import { getAddress } from 'viem/utils'
import type { Chains } from '../chain/chains.ts'
import { ownerOf } from '../chain/owner-of.ts'
import { recordChange } from '../store/audit.ts'
import { chipsOfToken, updateChip } from '../store/chips.ts'
import type { Db } from '../store/database.ts'
import type { TokenLocation } from '../store/tokens.ts'
import { useSignature } from '../store/used-signatures.ts'
import { asked, chainOf } from './ask-chain.ts'
import { redirectUrlFrom } from './chips.ts'
import { DomainError } from './errors.ts'
import { tokenAt } from './phygitals/find-token.ts'
import { type Clock, iso } from './time.ts'

type Deps = { db: Db; clock: Clock; chains: Chains }

export interface OwnerEdit extends TokenLocation {
  /** As it was signed; empty: none. */
  redirectUrl: string
  /** Seconds since the epoch. */
  requestExpiryTime: number
  ownerSignature: Hex
}

// The words that owners sign; the interface has them.
const types = {
  Updates: [{ name: 'redirectUrl', type: 'string' }],
  TokenRef: [
    { name: 'contractAddress', type: 'address' },
    { name: 'tokenId', type: 'uint256' },
    { name: 'chainId', type: 'uint256' },
  ],
  UpdateRequest: [
    { name: 'token', type: 'TokenRef' },
    { name: 'updates', type: 'Updates' },
    { name: 'requestExpiryTime', type: 'uint256' },
  ],
} as const

const wordsOf = ({ contractAddress, tokenId, chainId, redirectUrl, requestExpiryTime }: OwnerEdit) => ({
  domain: { name: 'Update Self Service Tag', version: '1' },
  types,
  primaryType: 'UpdateRequest' as const,
  message: {
    token: {
      contractAddress: getAddress(contractAddress.toLowerCase()),
      tokenId: BigInt(tokenId),
      chainId: BigInt(chainId),
    },
    updates: { redirectUrl },
    requestExpiryTime: BigInt(requestExpiryTime),
  },
})

/**
 * Changes where all chips of a token lead, on the word of whoever owns the token now.
 * @returns the UIDs of its chips
 * @throws DomainError signature_expired, signature_invalid, signature_used, not_found, chain_unavailable
 */
export async function editByOwner(
  deps: Deps,
  edit: OwnerEdit,
  requestId: string,
): Promise<readonly string[]> {
  const now = deps.clock.now()
  if (edit.requestExpiryTime * 1000 <= now)
    throw new DomainError(
      'signature_expired',
      'requestExpiryTime has passed (it is in seconds). Sign the request again.',
    )
  const redirectUrl = redirectUrlFrom(edit.redirectUrl)
  const token = await tokenAt(deps, edit)
  const owner = await ownerWhoSigned(deps, edit)
  const digest = hashTypedData(wordsOf(edit))
  return deps.db.write(async (trx) => {
    // For ever is as long as a date can be: a signature that far out stays used.
    const expiresAt = new Date(Math.min(edit.requestExpiryTime * 1000, 8.64e15)).toISOString()
    if (!(await useSignature(trx, { digest: `${owner}:${digest}`, expiresAt })))
      throw new DomainError(
        'signature_used',
        'This signature was used already. Sign a new request, with another requestExpiryTime.',
      )
    const chips = await chipsOfToken(trx, token.id)
    for (const { uid } of chips) await updateChip(trx, uid, { redirectUrl })
    await recordChange(trx, {
      at: iso(now),
      actor: { name: `owner:${owner}`, requestId },
      teamId: token.teamId,
      action: 'chips.edit-self',
      target: `${token.contractAddress}/${token.tokenId}`,
      detail: { redirectUrl, uids: chips.slice(0, 100).map(({ uid }) => uid) },
    })
    return chips.map(({ uid }) => uid)
  })
}

/** Asks the chain: a wallet that is a contract has a word of its own in this (ERC-1271). */
async function ownerWhoSigned({ chains }: Deps, edit: OwnerEdit): Promise<string> {
  const chain = chainOf(chains, edit.chainId)
  const contract = getAddress(edit.contractAddress.toLowerCase())
  const refuse = (message: string) => new DomainError('signature_invalid', message)
  return asked(chain, async () => {
    const owner = await ownerOf(chain.client, contract, BigInt(edit.tokenId))
    if (owner === undefined) throw refuse('Nobody owns this token yet, so nobody can sign for it.')
    const isGood = await chain.client
      .verifyTypedData({ ...wordsOf(edit), address: owner, signature: edit.ownerSignature })
      .catch((error: unknown) => {
        // Bytes that are no signature at all throw, where others are false.
        if (error instanceof Error && /signature|serialized|yParity|v value/i.test(error.message))
          return false
        throw error
      })
    if (isGood) return owner
    throw refuse(
      `ownerSignature is not the owner's (${owner}) over this request. Sign exactly what is sent: token, updates and requestExpiryTime.`,
    )
  })
}
