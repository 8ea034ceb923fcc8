import { getAddress } from 'viem/utils'
import { emptyMetadata } from '../../../values/token.ts'
import type { Chains } from '../../chain/chains.ts'
import { ownerOf } from '../../chain/contract-state.ts'
import { findChip } from '../../store/chips.ts'
import type { Db, Queries } from '../../store/database.ts'
import { findRef, type RefOfChip, takeRef } from '../../store/refs.ts'
import { findToken, type TokenLocation } from '../../store/tokens.ts'
import type { BadgeStatus } from '../badge-status.ts'
import { isServed, readChain } from '../chain/read-chain.ts'
import { assetsOf, type ChipAssets } from '../chips/chip-record.ts'
import { isCode, makeOtp, type Origin, type OtpDeps } from '../codes/otps.ts'
import { notFound } from '../errors.ts'
import { type Clock, iso } from '../time.ts'
import type { RepeatedRefs } from './repeated-refs.ts'

interface RefQuestion {
  id: string
  /** The team of the API key, if any. Called only for a link's ref; may throw api_key_unknown. */
  team: () => number | undefined
  includeOwner: boolean
  includeMetadata: boolean
}

/** Codes are present on the first query only. */
interface QueriedRef {
  uid: string
  isValidRef: boolean
  unmintedOtp: string | undefined
  token: (ChipAssets['token'] & { otp?: string; owner?: string; metadata?: string }) | undefined
  badgeEvents: { id: number; upstreamId: number; status: BadgeStatus; otp: string | undefined }[]
  guestbookEvents: { event: ChipAssets['guestbookEvents'][number]; otp: string | undefined }[]
}

type Deps = OtpDeps & {
  db: Db
  clock: Clock
  chains: Chains
  /** Undefined everywhere but in development. */
  repeatedRefs: RepeatedRefs<RefCodes> | undefined
}

/** The first query within the ref's lifetime is valid. @throws DomainError not_found, chain_unavailable */
export async function queryRef(deps: Deps, question: RefQuestion): Promise<QueriedRef> {
  const ref = await assertRef(deps, question.id)
  const now = deps.clock.now()
  const carried = await assetsOf(deps.db.read, ref, iso(now))
  const isTokenWanted = question.includeOwner || question.includeMetadata
  const token = isTokenWanted ? await describeToken(deps, carried, question) : undefined
  // A link's ref belongs to its team: for anyone else it is not valid and is not used up.
  const mayTake = ref.kind === 'redirect' || question.team() === ref.teamId
  const take = async () =>
    isGood(ref, now) ? deps.db.write((trx) => takeWithCodes(trx, deps, question.id, { ref, now })) : undefined
  const { repeatedRefs } = deps
  const codes = mayTake ? await (repeatedRefs ? repeatedRefs.codes(question.id, take) : take()) : undefined
  return describe(ref.uid, codes?.carried ?? carried, token, codes)
}

/** Uses nothing up. @throws DomainError not_found */
export async function assertRef({ db }: { db: Pick<Db, 'read'> }, id: string): Promise<RefOfChip> {
  const ref = isCode(id) ? await findRef(db.read, id) : undefined
  if (!ref) throw notFound('ref')
  return ref
}

export const isGood = (ref: RefOfChip, now: number): boolean =>
  ref.queriedAt === null && !ref.isEnded && ref.expiresAt > iso(now)

export interface RefCodes {
  carried: ChipAssets
  token: string | undefined
  unminted: string | undefined
  badges: Map<number, string>
  guestbooks: Map<number, string>
}

/** One conditional update uses the ref up. @returns undefined if it is not valid (any more) */
export async function takeWithCodes(
  trx: Queries,
  deps: OtpDeps,
  id: string,
  { ref, now }: { ref: Pick<RefOfChip, 'uid' | 'tapId' | 'createdAt'>; now: number },
): Promise<RefCodes | undefined> {
  if (!(await takeRef(trx, id, iso(now)))) return undefined
  const chip = await findChip(trx, ref.uid)
  if (!chip) return undefined
  const carried = await assetsOf(trx, chip, iso(now))
  const origin: Origin = { chipUid: chip.uid, tapId: ref.tapId, tappedAt: ref.createdAt, now }
  const make = (subject: Parameters<typeof makeOtp>[3]) => makeOtp(trx, deps, origin, subject)

  const codes: RefCodes = {
    carried,
    token: undefined,
    unminted: undefined,
    badges: new Map(),
    guestbooks: new Map(),
  }
  const isClaim = mayClaim(chip, ref)
  if (carried.token && isClaim)
    codes.token = await make({ type: 'PHYGITAL_CLAIM', tokenRow: carried.token.row })
  else if (isClaim && mintsNow(carried))
    codes.unminted = await make({ type: 'PHYGITAL_CLAIM', tokenRow: null })
  for (const { id } of carried.badgeEvents) {
    codes.badges.set(id, await make({ type: 'POAP_EVENT', badgeEventId: id }))
  }
  for (const { id } of carried.guestbookEvents) {
    codes.guestbooks.set(id, await make({ type: 'GUESTBOOK_EVENT', guestbookEventId: id }))
  }
  return codes
}

/** A tap from before the token was last claimed must not take it back. */
export const mayClaim = (
  { claimsEndedTap }: Pick<RefOfChip, 'claimsEndedTap'>,
  { tapId }: Pick<RefOfChip, 'tapId'>,
): boolean => claimsEndedTap === null || tapId > claimsEndedTap

/** Only an active badge event keeps the code away that mints a chip's token. */
export const mintsNow = ({ isUnminted, badgeEvents }: ChipAssets): boolean =>
  isUnminted && !badgeEvents.some(({ status }) => status === 'active')

/** Undefined for chains that are not configured. @throws DomainError chain_unavailable */
async function ownerOfToken(
  chains: Chains,
  { chainId, contractAddress, tokenId }: TokenLocation,
): Promise<string | undefined> {
  if (!isServed(chains, chainId)) return undefined
  const chain = chains.get(chainId)
  return readChain(chain, () => ownerOf(chain.client, getAddress(contractAddress), BigInt(tokenId)))
}

async function describeToken(
  { db, chains }: Pick<Deps, 'db' | 'chains'>,
  { token }: ChipAssets,
  { includeOwner, includeMetadata }: RefQuestion,
) {
  if (!token) return undefined
  const row = await findToken(db.read, token.row)
  // A contract with a known problem cannot name the owner.
  const owner = includeOwner && row?.contractProblem === null ? await ownerOfToken(chains, token) : undefined
  return {
    ...(owner ? { owner } : {}),
    ...(includeMetadata ? { metadata: row?.metadata ?? JSON.stringify(emptyMetadata) } : {}),
  }
}

function describe(
  uid: string,
  carried: ChipAssets,
  details: { owner?: string; metadata?: string } | undefined,
  codes: RefCodes | undefined,
): QueriedRef {
  return {
    uid,
    isValidRef: codes !== undefined,
    unmintedOtp: codes?.unminted,
    token: carried.token && { ...carried.token, ...details, ...(codes?.token ? { otp: codes.token } : {}) },
    badgeEvents: carried.badgeEvents.map((event) => ({
      id: event.id,
      upstreamId: event.upstreamId,
      status: event.status,
      otp: codes?.badges.get(event.id),
    })),
    guestbookEvents: carried.guestbookEvents.map((event) => ({
      event,
      otp: codes?.guestbooks.get(event.id),
    })),
  }
}
