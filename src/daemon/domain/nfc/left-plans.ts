import type { Plan } from '../../../nfc/provision/plan.ts'
import { sourcesOf, targetFile } from '../../../nfc/provision/plan.ts'
import { pagesOf, TimeSlice } from '../../../values/time-slices.ts'
import { type Actor, recordChange } from '../../store/audit/audit.ts'
import { findChips } from '../../store/chips/chips.ts'
import type { Db, Queries } from '../../store/database/database.ts'
import { closeNfcPlan, giveUpNfcPlan, listNfcPlans } from '../../store/nfc/nfc-plans.ts'
import type { NfcPlanRow } from '../../store/schema/schema.ts'
import { conflict, DomainError } from '../errors/errors.ts'
import { type Clock, iso } from '../time/time.ts'
import { entriesOf, entryOf, teamOf } from './journal.ts'

// What operators see and do of the journal.

/** An entry as shown to operators. */
type JournalView = Omit<NfcPlanRow, 'plan' | 'registration' | 'suppliedKeys'> &
  Pick<Plan, 'from' | 'target'> & { readonly url: string | null }

type JournalFilter = Omit<Parameters<typeof listNfcPlans>[1], 'from' | 'teamId'>

/** A team may have few plans among a million of others', so they are looked for in slices of this many. */
const idsPerSlice = 2000

async function* plansOfTeam(db: Queries, teamId: number, filter: JournalFilter): AsyncGenerator<NfcPlanRow> {
  const [newest] = await listNfcPlans(db, { open: false, limit: 1 })
  const slice = new TimeSlice()
  const end = (newest?.id ?? 0) + 1
  for (let before = Math.min(filter.before ?? end, end); before > 1; before -= idsPerSlice) {
    yield* await listNfcPlans(db, { ...filter, teamId, before, from: before - idsPerSlice })
    if (slice.shouldYield) await slice.next()
  }
}

/** Newest first. */
export async function listJournal(
  { db }: { db: Pick<Db, 'read'> },
  { ofTeam }: Pick<Actor, 'ofTeam'>,
  filter: JournalFilter,
): Promise<JournalView[]> {
  const shown: JournalView[] = []
  const page = (last: NfcPlanRow | undefined, limit: number) =>
    listNfcPlans(db.read, { ...filter, before: last?.id ?? filter.before, limit })
  const rows =
    ofTeam === undefined ? pagesOf(page, { min: 20, max: 200 }) : plansOfTeam(db.read, ofTeam, filter)
  for await (const row of rows) {
    const { plan } = entryOf(row)
    const { plan: _, registration: __, suppliedKeys: ___, ...rest } = row
    shown.push({ ...rest, from: plan.from, target: plan.target, url: targetFile(plan).url })
    if (shown.length === filter.limit) break
  }
  return shown
}

/** The chip's last or unfinished plan then no longer holds a key set. @throws DomainError not_found, conflict */
export async function giveUpChip(
  { db, clock }: { db: Db; clock: Clock },
  actor: Actor,
  uid: string,
  assertFree: () => Promise<void>,
): Promise<void> {
  const at = iso(clock.now())
  const end = { closedAt: at, closedBy: actor.name }
  await db.write(async (trx) => {
    const entries = await entriesOf(trx, uid)
    const open = entries.find(({ row }) => row.closedAt === null)
    const last = entries.findLast(({ outcome }) => outcome === 'done')
    const entry = open ?? (last?.plan.target === 'factory' ? undefined : last)
    const { ofTeam } = actor
    if (!entry || (ofTeam !== undefined && (await teamOf(trx, uid, entry.enrollment)) !== ofTeam)) {
      throw new DomainError(
        'not_found',
        'This chip has no unfinished setup here and no known keys. To list unfinished chips: tapchip nfc recover --list',
      )
    }
    await assertFree()
    if (!open && (await findChips(trx, [uid])).length > 0) {
      throw conflict(
        'The setup of this chip is finished, and it is registered. Remove it first: tapchip chips remove',
      )
    }
    if (open) await closeNfcPlan(trx, open.id, { ...end, outcome: 'given-up' })
    else await giveUpNfcPlan(trx, entry.id, end)
    const { id, enrollment, plan } = entry
    const detail = { plan: id, isFinished: !open, keys: sourcesOf(plan) }
    await recordChange(trx, {
      at,
      actor,
      teamId: (await teamOf(trx, uid, enrollment)) ?? null,
      action: 'nfc.give-up',
      target: uid,
      detail,
    })
  })
}
