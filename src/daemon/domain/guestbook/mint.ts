import { nanoid } from 'nanoid'
import { keccak256, stringToBytes } from 'viem'
import { recordChange } from '../../store/audit/audit.ts'
import { groupKinds } from '../../store/chain/intents.ts'
import type { Queries } from '../../store/database/database.ts'
import { insertGuestbookEntry } from '../../store/guestbook/guestbook-assignments.ts'
import { findGuestbookEvent, type LocatedGuestbookEvent } from '../../store/guestbook/guestbook-events.ts'
import type { ChargedTo } from '../chain/budget.ts'
import { candidatesFor, knownRelayers } from '../chain/candidates.ts'
import { mintsPerGroup } from '../chain/group-size.ts'
import { chainOf } from '../chain/read-chain.ts'
import { type Asker, type Names, resolveRecipient } from '../chain/recipients.ts'
import type { GroupedMint } from '../chain/record-groups.ts'
import { hashCode, presentCode, spendCode } from '../codes/otps.ts'
import type { Seals } from '../codes/seals.ts'
import type { DeployDeps } from '../contracts/contract-address.ts'
import { assertOurs } from '../contracts/deployed.ts'
import type { TeamRequester } from '../deployments/guestbook-contracts.ts'
import { recordMintOf } from '../deployments/guestbook-records.ts'
import { notFound } from '../errors/errors.ts'
import { iso } from '../time/time.ts'
import { assertMinter, eventExists, guestbookOf, isForeign } from './authority.ts'
import { ensureEventCreated, isSettledEvent } from './events.ts'
import { type EventRef, eventOfTeam } from './find.ts'
import { gasToMintTo, isPlain, mintBatchGas } from './receiver.ts'

export type MintDeps = DeployDeps & { names: Names; seals: Seals }
type Requester = Omit<TeamRequester, 'teamId'>

/** @returns the transaction @throws DomainError not_found, recipient_invalid, chain_unavailable, conflict */
export async function mintEvent(
  deps: MintDeps,
  { teamId, ...requester }: TeamRequester,
  { event: ref, recipient }: { event: EventRef; recipient: string },
): Promise<number> {
  const event = await eventOfTeam(deps, teamId, ref)
  return mint(deps, { rateKey: { team: teamId }, event, recipient, requester, code: undefined })
}

/** Uses up the code. @throws DomainError of the code, and as above; the code then stays valid */
export async function mintByCode(
  deps: MintDeps,
  { code, ...requester }: Requester & { code: string },
  recipient: string,
): Promise<number> {
  const otp = await presentCode(deps, code, 'GUESTBOOK_EVENT')
  const event =
    otp.guestbookEventId === null ? undefined : await findGuestbookEvent(deps.db.read, otp.guestbookEventId)
  if (!event) throw notFound('guestbook event')
  return mint(deps, { rateKey: { chip: otp.chipUid }, event, recipient, requester, code })
}

interface MintRequest {
  rateKey: Asker
  event: LocatedGuestbookEvent
  recipient: string
  requester: Requester
  /** undefined: on the team's authority. */
  code: string | undefined
}

/** Reads from the chain what a mint needs. */
async function prepareMint(
  deps: Pick<MintDeps, 'db' | 'chains' | 'names'>,
  rateKey: Asker,
  event: LocatedGuestbookEvent,
  to: string,
) {
  const chain = chainOf(deps.chains, event.chainId)
  const recipient = await resolveRecipient(deps, rateKey, event.chainId, to)
  const guestbook = guestbookOf(event)
  const isOther = isForeign(guestbook)
  if (!isOther && guestbook.status === 'confirmed') await assertOurs(chain, guestbook)
  const minters = isOther
    ? await assertMinter(deps.db, chain, guestbook)
    : await knownRelayers(deps.db.read, chain, guestbook.id)
  const [gasHint, exists] = await Promise.all([
    gasToMintTo(chain, event, recipient),
    eventExists(chain, event.address, event.tokenId),
  ])
  const candidates = await candidatesFor(deps.chains, chain, minters)
  return { chain, recipient, gasHint, isThere: exists, minters, candidates }
}
type Prepared = Awaited<ReturnType<typeof prepareMint>>

/** The number of mints that share a transaction. Of others' contracts, only `mint` is known to work. */
const groupSize = async (
  { db }: Pick<MintDeps, 'db'>,
  event: LocatedGuestbookEvent,
  { chain, gasHint, isThere }: Prepared,
): Promise<number> =>
  !isForeign(guestbookOf(event)) &&
  isPlain(gasHint) &&
  isThere &&
  (await isSettledEvent(db.read, event, true))
    ? mintsPerGroup(chain, mintBatchGas)
    : 1

/** A dry run. `gas` is a limit. @throws as `mintEvent` */
export async function checkMint(
  deps: Pick<MintDeps, 'db' | 'chains' | 'names'>,
  teamId: number,
  { event: ref, recipient: to }: { event: EventRef; recipient: string },
) {
  const event = await eventOfTeam(deps, teamId, ref)
  const prepared = await prepareMint(deps, { team: teamId }, event, to)
  const { recipient, gasHint: gas } = prepared
  const size = await groupSize(deps, event, prepared)
  const { address: contractAddress, chainId, tokenId } = event
  return { contractAddress, chainId, tokenId, recipient, gas, ...(size > 1 ? { sharedBy: size } : {}) }
}

/** @returns undefined if it is sent alone @throws as `mintEvent` */
export async function groupedMint(
  deps: MintDeps,
  { teamId, ...requester }: TeamRequester,
  { event: ref, recipient: to }: { event: EventRef; recipient: string },
): Promise<GroupedMint | undefined> {
  const event = await eventOfTeam(deps, teamId, ref)
  const rateKey = { team: teamId }
  const prepared = await prepareMint(deps, rateKey, event, to)
  const { chain, candidates } = prepared
  const size = await groupSize(deps, event, prepared)
  if (size < 2) return undefined
  return {
    ...{ kind: groupKinds.guestbook, chain, contractAddress: event.address },
    ...{ candidates, size, gas: mintBatchGas },
    async record(trx) {
      const current = await findGuestbookEvent(trx, event.id)
      if (!current || !(await isSettledEvent(trx, current, true))) return undefined
      return record(trx, deps, { rateKey, event: current, requester, code: undefined }, prepared, 'owed')
    },
  }
}

async function mint(deps: MintDeps, request: MintRequest): Promise<number> {
  const { rateKey, event, code } = request
  const prepared = await prepareMint(deps, rateKey, event, request.recipient)
  const { chain, isThere: exists, minters } = prepared
  const [minter = 'relayer'] = minters
  return deps.db.write(async (trx) => {
    if (code !== undefined) await spendCode(trx, deps, code, iso(deps.clock.now()))
    const current = await ensureEventCreated(trx, deps, chain, { event, exists, minter })
    const candidates = (await isSettledEvent(trx, current, exists)) ? prepared.candidates : [minter]
    return record(trx, deps, { ...request, event: current }, { ...prepared, candidates }, chain)
  })
}

async function record(
  trx: Queries,
  deps: MintDeps,
  { rateKey, event, requester, code }: Omit<MintRequest, 'recipient'>,
  { recipient, gasHint, candidates }: Prepared,
  counted: ChargedTo,
): Promise<number> {
  // Derived from the code, so that the contract itself rejects a used code that the store has forgotten.
  const intentId = keccak256(stringToBytes(code === undefined ? nanoid() : `otp:${hashCode(code)}`))
  const at = iso(deps.clock.now())
  const { actor, idempotency } = requester
  const minting = { recipient, intentId, gasHint, candidates, idempotency }
  const id = await recordMintOf(trx, deps, event, counted, minting)
  const chipUid = 'chip' in rateKey ? rateKey.chip : undefined
  if (chipUid !== undefined)
    await insertGuestbookEntry(trx, { chipUid, transactionId: id, guestbookEventId: event.id })
  const { id: eventId, teamId, chainId, address: contractAddress, tokenId } = event
  await recordChange(trx, {
    at,
    actor,
    teamId,
    chips: chipUid === undefined ? [] : [chipUid],
    action: 'guestbook.mint',
    target: `${contractAddress}/${tokenId}`,
    detail: { eventId, chainId, recipient, transaction: id },
  })
  const data = { contractAddress, chainId, tokenId, recipient, initialTxHash: null }
  await deps.webhookEvents.record(trx, {
    ...{ teamId, type: 'guestbook.minted', at, data, chipUid, transactionId: id },
  })
  return id
}
