import { getAddress } from 'viem/utils'
import { emptyMetadata } from '../../../values/token.ts'
import type { Chains } from '../../chain/chains.ts'
import { ownerOf } from '../../chain/contract-state.ts'
import { findChip, type TappedChip } from '../../store/chips/chips.ts'
import type { Db, Queries } from '../../store/database/database.ts'
import { findToken, type TokenLocation } from '../../store/phygitals/tokens.ts'
import { type CodeSubject, type MadeCodes, storedCodes } from '../../store/taps/codes.ts'
import { findTap, queryRefOf, type TapOfChip } from '../../store/taps/recorded-taps.ts'
import { isServed, readChain } from '../chain/read-chain.ts'
import type { BadgeStatus } from '../chips/badge-status.ts'
import { assetsOf, type ChipAssets } from '../chips/chip-record.ts'
import type { OtpDeps } from '../codes/otps.ts'
import { type IssuedCodes, isOf, issuedCodes, type Seals } from '../codes/seals.ts'
import { notFound } from '../errors/errors.ts'
import { type Clock, iso } from '../time/time.ts'

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
  config: { dev: boolean }
}

/** The first query within the ref's lifetime is valid. @throws DomainError not_found, chain_unavailable */
export async function queryRef(deps: Deps, question: RefQuestion): Promise<QueriedRef> {
  const ref = await assertRef(deps, question.id)
  const now = deps.clock.now()
  const carried = await assetsOf(deps.db.read, ref, iso(now))
  const isTokenWanted = question.includeOwner || question.includeMetadata
  const token = isTokenWanted ? await describeToken(deps, carried, question) : undefined
  // A link's ref belongs to its team: for anyone else it is not valid and is not used up.
  const mayTake = ref.ordinal === 0 || question.team() === ref.teamId
  const issued = mayTake ? await take(deps, ref, now) : undefined
  const codes = issued ?? (mayTake ? await repeated(deps, ref, now) : undefined)
  return describe(ref.uid, issued?.carried ?? carried, token, codes)
}

const take = async (deps: Deps, ref: RefOfTap, now: number) =>
  isGood(ref, now)
    ? deps.db.write((trx) => takeWithCodes(trx, deps, ref, { by: ref.ordinal, now }))
    : undefined

const repeatMs = 5000

/**
 * For development only: a ref that is queried again within five seconds of its first query gets the same codes, since
 * pages under React's StrictMode, or ones that reload as their source changes, query twice.
 */
async function repeated(
  { db, seals, config, otpLifetime }: Deps,
  { tapId, ordinal }: RefOfTap,
  now: number,
): Promise<IssuedCodes | undefined> {
  const tap = config.dev ? await findTap(db.read, tapId) : undefined
  const codes = tap && issuedCodes(seals, { id: tapId, at: tap.at }, tap.codes, ordinal)
  return codes && Date.parse(codes.until) > now + otpLifetime - repeatMs ? codes : undefined
}

/** A ref, with its tap and its chip. */
export interface RefOfTap extends TapOfChip {
  /** 0: the tap's own ref; others belong to links. */
  ordinal: number
}

/** Uses nothing up. @throws DomainError not_found */
export async function assertRef(
  { db, seals }: { db: Pick<Db, 'read'>; seals: Seals },
  id: string,
): Promise<RefOfTap> {
  const sealed = seals.openRef(id)
  const tap = sealed && (await findTap(db.read, sealed.tapId))
  if (!tap || !isOf(sealed, tap)) throw notFound('ref')
  return Object.assign(tap, { ordinal: sealed.ordinal })
}

export const isQueried = ({ queried, ordinal }: Pick<RefOfTap, 'queried' | 'ordinal'>): boolean =>
  Math.floor(queried / 2 ** ordinal) % 2 === 1

export const isGood = (ref: RefOfTap, now: number): boolean =>
  !isQueried(ref) && !ref.isEnded && (ref.refsUntil ?? '') > iso(now)

/**
 * One conditional update uses the ref up, and stores the codes made by it.
 * @param by the ref's ordinal, or `page` for the tap's own ref @returns undefined if it is not, or no longer, valid
 */
export async function takeWithCodes(
  trx: Queries,
  deps: OtpDeps,
  { uid, tapId: id, at }: Pick<RefOfTap, 'uid' | 'tapId' | 'at'>,
  { by, now }: { by: Exclude<MadeCodes['by'], 'find' | 'kept'>; now: number },
): Promise<(IssuedCodes & { carried: ChipAssets }) | undefined> {
  const chip = await findChip(trx, uid)
  if (!chip) return undefined
  const carried = await assetsOf(trx, chip, iso(now))
  const subjects = subjectsOf(chip, carried, id)
  const until = iso(now + deps.otpLifetime)
  const stored = await queryRefOf(trx, {
    id,
    ordinal: by === 'page' ? 0 : by,
    now: iso(now),
    codes: storedCodes({ by, until, subjects }),
  })
  const codes = stored === undefined ? undefined : issuedCodes(deps.seals, { id, at }, stored, by)
  return codes && { ...codes, carried }
}

function subjectsOf(chip: TappedChip, carried: ChipAssets, tapId: number): CodeSubject[] {
  const { token, badgeEvents, guestbookEvents } = carried
  const isClaim = mayClaim(chip, { tapId }) && (token !== undefined || mintsNow(carried))
  return [
    ...(isClaim
      ? [{ type: 'PHYGITAL_CLAIM' as const, tokenRow: token?.row ?? null, round: chip.claimRound }]
      : []),
    ...badgeEvents.map(({ id, assignmentId }) => ({
      ...{ type: 'POAP_EVENT' as const, badgeEventId: id, assignmentId },
    })),
    ...guestbookEvents.map(({ id }) => ({ type: 'GUESTBOOK_EVENT' as const, guestbookEventId: id })),
  ]
}

/** A tap from before the token's last transfer must not reclaim it. */
export const mayClaim = (
  { claimsEndedTap }: Pick<TappedChip, 'claimsEndedTap'>,
  { tapId }: Pick<RefOfTap, 'tapId'>,
): boolean => claimsEndedTap === null || tapId > claimsEndedTap

/** An active badge event suppresses the code that mints a chip's token; an inactive one does not. */
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
  codes: IssuedCodes | undefined,
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
