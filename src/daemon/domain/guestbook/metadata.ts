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
  const announces = await mayAnnounce(deps, event)
  const at = iso(deps.clock.now())
  await deps.db.write(async (trx) => {
    const current = await findGuestbookEvent(trx, id)
    if (!current) throw notFound('guestbook event')
    const { address, chainId, tokenId } = current
    const label = name === undefined || name.trim() === '' ? current.name : name
    await describeGuestbookEvent(trx, { id, name: label, metadata: stringifyExact(metadata) })
    // Creating the event will announce it.
    if (announces && current.transactionId !== null) {
      const { contractId } = current
      const changed = {
        contractId,
        kind: 'guestbook',
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

/** A contract deployed elsewhere may refuse; marketplaces are still told. */
async function mayAnnounce({ chains }: Deps, event: LocatedGuestbookEvent): Promise<boolean> {
  const { chainId } = event
  if (!isServed(chains, chainId)) return false
  const guestbook = guestbookOf(event)
  if (!isForeign(guestbook)) return true
  try {
    await assertMinter(chains.get(chainId), guestbook)
    return true
  } catch (error) {
    if (error instanceof DomainError) return false
    throw error
  }
}
