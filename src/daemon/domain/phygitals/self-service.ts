import { type Address, type Hex, hashTypedData } from 'viem'
import { getAddress } from 'viem/utils'
import { type OwnerRequest, ownerTypedData } from '../../../values/owner-edit.ts'
import type { Chains } from '../../chain/chains.ts'
import { ownerOf } from '../../chain/contract-state.ts'
import { recordChange } from '../../store/audit/audit.ts'
import { chipsOfToken, updateChip } from '../../store/chips/chips.ts'
import type { Db } from '../../store/database/database.ts'
import { useSignature } from '../../store/phygitals/claim-registrations.ts'
import type { LocatedToken } from '../../store/phygitals/tokens.ts'
import { chainOf, readChain } from '../chain/read-chain.ts'
import { reasonAgainstSignature } from '../chain/wallet-signature.ts'
import { DomainError, invalid } from '../errors/errors.ts'
import { type Clock, iso } from '../time/time.ts'
import { assertUsable } from './check-move.ts'
import { tokenAt } from './target.ts'

type Deps = { db: Db; clock: Clock; chains: Chains }

interface OwnerEdit extends OwnerRequest {
  ownerSignature: Hex
}

/** Later dates have five-digit years, which do not sort as text. */
const latestExpiry = Date.parse('9999-12-31T23:59:59Z') / 1000

const digestOf = (edit: OwnerEdit): Hex =>
  hashTypedData(ownerTypedData({ ...edit, contractAddress: getAddress(edit.contractAddress.toLowerCase()) }))

/**
 * Authorized by the current owner's signature. @returns the UIDs of the token's chips @throws DomainError
 * signature_expired, signature_invalid, signature_used, not_found, chain_unavailable
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
  if (edit.requestExpiryTime > latestExpiry)
    throw invalid('requestExpiryTime', 'is in seconds since 1970 and must not be after the year 9999')
  const redirectUrl = edit.redirectUrl || null
  const token = await tokenAt(deps, edit)
  const owner = await ownerWhoSigned(deps, edit, token)
  const digest = digestOf(edit)
  return deps.db.write(async (trx) => {
    const expiresAt = iso(edit.requestExpiryTime * 1000)
    if (!(await useSignature(trx, { digest: `${owner}:${digest}`, expiresAt })))
      throw new DomainError(
        'signature_used',
        'This signature has already been used. Sign a new request with another requestExpiryTime.',
      )
    const chips = await chipsOfToken(trx, token.id)
    const uids = chips.map(({ uid }) => uid)
    for (const uid of uids) await updateChip(trx, uid, { redirectUrl })
    await recordChange(trx, {
      at: iso(now),
      actor: { name: `owner:${owner}`, requestId },
      teamId: token.teamId,
      action: 'chips.edit-self',
      target: `${token.contractAddress}/${token.tokenId}`,
      detail: {
        redirectUrl,
        uids,
        rows: chips.map((chip) => ({ uid: chip.uid, previous: chip.redirectUrl })),
      },
      chips: uids,
    })
    return uids
  })
}

/** @returns the owner @throws DomainError signature_invalid, chain_unavailable */
async function ownerWhoSigned({ chains }: Deps, edit: OwnerEdit, token: LocatedToken): Promise<Address> {
  const chain = chainOf(chains, edit.chainId)
  // A foreign contract at our address cannot name the owner.
  if (token.contractStatus === 'confirmed') await assertUsable(chain, token)
  const contract = getAddress(edit.contractAddress.toLowerCase())
  const owner =
    token.contractStatus === 'pending'
      ? undefined
      : await readChain(chain, () => ownerOf(chain.client, contract, BigInt(edit.tokenId)))
  const refuse = (message: string) => new DomainError('signature_invalid', message)
  if (owner === undefined) throw refuse('This token has no owner yet, so no one can sign for it.')
  const reason = await reasonAgainstSignature(chain, owner, digestOf(edit), edit.ownerSignature)
  if (reason === undefined) return owner
  throw refuse(
    `ownerSignature ${reason}. The owner is ${owner}. Sign exactly what you send: token, updates, and requestExpiryTime. Nothing was used up.`,
  )
}
