import {
  type Address,
  encodeFunctionData,
  type Hex,
  hashTypedData,
  parseAbi,
  recoverAddress,
  size,
} from 'viem'
import { getAddress } from 'viem/utils'
import { type OwnerRequest, ownerTypedData } from '../../../values/owner-edit.ts'
import type { Chain, Chains } from '../../chain/chains.ts'
import { ownerOf } from '../../chain/contract-state.ts'
import { revertOf } from '../../chain/revert.ts'
import { recordChange } from '../../store/audit.ts'
import { chipsOfToken, updateChip } from '../../store/chips.ts'
import { useSignature } from '../../store/claim-registrations.ts'
import type { Db } from '../../store/database.ts'
import type { LocatedToken } from '../../store/tokens.ts'
import { chainOf, outOfReach, readChain } from '../chain/read-chain.ts'
import { redirectUrlFrom } from '../chips/chips.ts'
import { DomainError, invalid } from '../errors.ts'
import { type Clock, iso } from '../time.ts'
import { assertUsable } from './check-move.ts'
import { tokenAt } from './find-token.ts'

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
    throw invalid('requestExpiryTime', 'is in seconds since 1970 and must not be beyond the year 9999')
  const redirectUrl = redirectUrlFrom(edit.redirectUrl)
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
  if (await isSignedBy(chain, owner, digestOf(edit), edit.ownerSignature)) return owner
  throw refuse(
    `ownerSignature is not the signature of the owner (${owner}) for this request. Sign exactly what you send: token, updates, and requestExpiryTime.`,
  )
}

const erc1271 = parseAbi(['function isValidSignature(bytes32 hash, bytes signature) view returns (bytes4)'])
const isGood = '0x1626ba7e'

/** Gas for a wallet's own check: enough for a few signatures. */
const checkGas = 1_000_000n

/**
 * By an account's key, or by its contract (ERC-1271). Code in the signature is never run, so wrappers that first
 * deploy a wallet (ERC-6492) are rejected. @throws DomainError chain_unavailable
 */
async function isSignedBy(chain: Chain, signer: Address, hash: Hex, signature: Hex): Promise<boolean> {
  if (size(signature) === 65 && (await recovered(hash, signature)) === signer) return true
  const code = await readChain(chain, () => chain.client.getCode({ address: signer }))
  return code !== undefined && (await saysYes(chain, signer, hash, signature))
}

async function saysYes(chain: Chain, signer: Address, hash: Hex, signature: Hex): Promise<boolean> {
  const data = encodeFunctionData({ abi: erc1271, args: [hash, signature] })
  try {
    const answer = await chain.client.call({ to: signer, data, gas: checkGas })
    return answer.data?.startsWith(isGood) ?? false
  } catch (error) {
    // A failure on the chain means no; anything else is a connection problem.
    if (revertOf(error)) return false
    throw outOfReach(chain.id, error)
  }
}

const recovered = (hash: Hex, signature: Hex): Promise<Address | undefined> =>
  // The bytes are not a signature.
  recoverAddress({ hash, signature }).catch(() => undefined)
