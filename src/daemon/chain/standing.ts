import { type Address, type Hex, keccak256, type PublicClient } from 'viem'
import { guestbookAbi } from './artifacts/guestbook.ts'
import { phygitalAbi, phygitalCodeHash } from './artifacts/phygital.ts'
import { guestbookCodeHash } from './guestbook-place.ts'
import { isRefusal } from './owner-of.ts'
import { MalformedAnswer } from './rpc-connection.ts'

/** What stands at an address. What it does not say of itself is undefined. */
export interface Standing {
  /** keccak256; undefined: there is no code. */
  codeHash: Hex | undefined
  /** Whether it is what this daemon deploys. */
  isOurCode: boolean
  owner: Address | undefined
}

export interface PhygitalStanding extends Standing {
  /** Who becomes the owner as soon as they say so. */
  pendingOwner: Address | undefined
  signVerifier: Address | undefined
}

export interface GuestbookStanding extends Standing {
  isMinter: boolean | undefined
}

/**
 * The block to look at: a node that does not have it yet says so, where it would answer for the latest it has.
 * Absent: whatever the node has.
 */
type At = { blockNumber?: bigint }

/** @throws what the way to the chain threw */
export async function phygitalAt(
  client: PublicClient,
  address: Address,
  at: At = {},
): Promise<PhygitalStanding> {
  const found = await codeAt(client, address, phygitalCodeHash, at)
  const contract = { abi: phygitalAbi, address, ...at } as const
  const [owner, pendingOwner, signVerifier] = await Promise.all([
    said(found, () => client.readContract({ ...contract, functionName: 'owner' })),
    said(found, () => client.readContract({ ...contract, functionName: 'pendingOwner' })),
    said(found, () => client.readContract({ ...contract, functionName: 'getSignVerifier' })),
  ])
  return { ...found, owner, pendingOwner, signVerifier }
}

/** @throws what the way to the chain threw */
export async function guestbookAt(
  client: PublicClient,
  address: Address,
  minter: Address,
  at: At = {},
): Promise<GuestbookStanding> {
  const found = await codeAt(client, address, guestbookCodeHash, at)
  const contract = { abi: guestbookAbi, address, ...at } as const
  const [owner, isMinter] = await Promise.all([
    said(found, () => client.readContract({ ...contract, functionName: 'owner' })),
    said(found, () => client.readContract({ ...contract, functionName: 'isMinter', args: [minter] })),
  ])
  return { ...found, owner, isMinter }
}

type Found = Pick<Standing, 'codeHash' | 'isOurCode'>

async function codeAt(client: PublicClient, address: Address, ours: Hex, at: At): Promise<Found> {
  const code = await client.getCode({ address, ...at })
  const codeHash = code && keccak256(code)
  return { codeHash, isOurCode: codeHash === ours }
}

/** Code of strangers may fail in every way there is; ours answers, so what fails there is the way to it. */
async function said<T>({ codeHash, isOurCode }: Found, ask: () => Promise<T>): Promise<T | undefined> {
  if (codeHash === undefined) return undefined
  try {
    return await ask()
  } catch (error) {
    if (!isOurCode) return undefined
    throw isRefusal(error) ? new MalformedAnswer('the node does not run our own code') : error
  }
}
