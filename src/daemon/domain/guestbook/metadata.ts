import { stringifyExact } from '../../../values/json.ts'
import type { Chains } from '../../chain/chains.ts'
import { type Actor, recordChange } from '../../store/audit/audit.ts'
import { askForRefresh } from '../../store/chain/announcements.ts'
import type { Db } from '../../store/database/database.ts'
import {
  describeGuestbookEvent,
  findGuestbookEvent,
  type LocatedGuestbookEvent,
} from '../../store/guestbook/guestbook-events.ts'
import { announceTokens } from '../chain/announcements.ts'
import { isServed } from '../chain/read-chain.ts'
import { DomainError, notFound } from '../errors/errors.ts'
import { type BudgetClock, iso } from '../time/time.ts'
import { assertMinter, guestbookOf, isForeign } from './authority.ts'
import { type EventRef, eventOfTeam } from './find.ts'

type Deps = { db: Db; clock: BudgetClock; chains: Chains; marketplace: object | undefined }

/** Queues announcements (ERC-1155 `URI`, marketplaces) without waiting. @throws DomainError not_found */
export async function replaceEventMetadata(
  deps: Deps,
  { teamId, actor }: { teamId: number; actor: Actor },
  ref: EventRef,
  { metadata, name }: { metadata: object; name: string | undefined },
): Promise<void> {
  const event = await eventOfTeam(deps, teamId, ref)
  const { id } = event
  const announcer = await announcerOf(deps, event)
  const at = iso(deps.clock.now())
  await deps.db.write(async (trx) => {
    const current = await findGuestbookEvent(trx, id)
    if (!current) throw notFound('guestbook event')
    const { address, chainId, tokenId } = current
    const label = name === undefined || name.trim() === '' ? current.name : name
    await describeGuestbookEvent(trx, { id, name: label, metadata: stringifyExact(metadata) })
    // Creating the event will announce it.
    if (announcer !== undefined && current.transactionId !== null) {
      const { contractId } = current
      const changed = {
        contractId,
        kind: 'guestbook',
        candidates: [announcer],
        address,
        chainId,
        teamId,
        tokenIds: [tokenId],
      } as const
      await announceTokens(trx, deps, changed)
    }
    if (deps.marketplace) await askForRefresh(trx, { chainId, contract: address, tokenId, at })
    await recordChange(trx, {
      at,
      actor,
      teamId,
      action: 'guestbook.metadata',
      target: `${address}/${tokenId}`,
      detail: { eventId: id, chainId, ...(label === current.name ? {} : { name: label }) },
    })
  })
  deps.chains.relayer.wake()
}

/** The relayer that announces it. Undefined: the contract, deployed elsewhere, refuses; marketplaces are still told. */
async function announcerOf({ db, chains }: Deps, event: LocatedGuestbookEvent): Promise<string | undefined> {
  const { chainId } = event
  if (!isServed(chains, chainId)) return undefined
  const guestbook = guestbookOf(event)
  const chain = chains.get(chainId)
  const [first] = chain.relayers
  if (!isForeign(guestbook)) return first?.name
  try {
    const [minter] = await assertMinter(db, chain, guestbook)
    return minter
  } catch (error) {
    if (error instanceof DomainError) return undefined
    throw error
  }
}
