import { getAddress, type Hex } from 'viem'
import type { Json } from '../../chain/relayer/record-intent.ts'
import { sentToContract } from '../../store/contracts.ts'
import type { Queries } from '../../store/database.ts'
import type { ContractRow, TransactionRow } from '../../store/schema.ts'
import { type Counted, recordForTeam } from '../chain/budget.ts'
import type { BudgetClock } from '../time.ts'
import { owed, pauseTopic } from './guestbook-records.ts'

/** Somebody asked for the end of it, or it could never be sent. */
const isGivenUp = ({
  state,
  abandonedBecause,
}: Pick<TransactionRow, 'state' | 'abandonedBecause'>): boolean =>
  state === 'cancelled' || abandonedBecause !== null

/**
 * Records once more what was sent to where a guestbook should have been: nothing was there, so it had no effect, and
 * seemed to go well. What was given up
 * stays so. Mints have their intent ids, so none happens twice. @param before as it was
 */
export async function recordAgain(
  trx: Queries,
  { clock }: { clock: BudgetClock },
  { before, address }: { before: ContractRow; address: string },
  counted: Counted,
): Promise<number[]> {
  const { chainId, teamId } = before
  const sent = await sentToContract(trx, { chainId, address: before.address, kinds: Object.values(owed) })
  // The last of what is the same: of several changes of the pause the latest decides.
  const wanted = new Map<string, (typeof sent)[number]>()
  for (const row of sent) {
    wanted.delete(row.data ?? '')
    wanted.set(row.data ?? '', row)
  }
  const ids: number[] = []
  for (const [data, row] of wanted) {
    const { kind, subject, gas } = row
    if (isGivenUp(row)) continue
    // Written above, in these shapes.
    const about: { readonly [name: string]: Json } = JSON.parse(subject)
    const intent = {
      chainId,
      signer: 'relayer',
      deed: { to: getAddress(address), data: data as Hex },
      ...(gas === null ? { gasAtMost: 0 } : { gasHint: gas }),
      kind,
      ...(kind === owed.pause ? { topic: pauseTopic({ chainId, address }) } : {}),
      subject: { ...about, contractAddress: address },
      teamId,
      now: clock.now(),
      settled: clock.settled(),
    }
    ids.push(await recordForTeam(trx, intent, counted))
  }
  return ids
}
