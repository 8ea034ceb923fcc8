import type { Queries } from './database.ts'

/** What keeps a contract from being removed, counted. */
export interface ContractUses {
  chips: number
  items: number
  events: number
  /** Badge events that were given to its tokens. */
  assignments: number
  /** Unsettled ones that go to it. */
  transactions: number
}

interface Counting {
  executeTakeFirstOrThrow(): Promise<{ count: number }>
}
const counted = async (query: Counting): Promise<number> => (await query.executeTakeFirstOrThrow()).count

export async function contractUses(db: Queries, id: number): Promise<ContractUses> {
  const { address, chainId } = await db
    .selectFrom('contracts')
    .select(['address', 'chainId'])
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  const rows = (table: 'items' | 'guestbookEvents') =>
    db
      .selectFrom(table)
      .select((e) => e.fn.countAll<number>().as('count'))
      .where('contractId', '=', id)
  const ofItsTokens = (table: 'chips' | 'badgeAssignments') =>
    db
      .selectFrom(table)
      .innerJoin('tokens', 'tokens.id', 'tokenRow')
      .select((e) => e.fn.countAll<number>().as('count'))
      .where('tokens.contractId', '=', id)
  const underWay = db
    .selectFrom('transactions')
    .select((e) => e.fn.countAll<number>().as('count'))
    .where('chainId', '=', chainId)
    .where('settledAt', 'is', null)
    .where((e) => e.or([e('to', '=', address), e('topic', 'like', `token:${chainId}/${address}/%`)]))
  return {
    chips: await counted(ofItsTokens('chips')),
    items: await counted(rows('items')),
    events: await counted(rows('guestbookEvents')),
    assignments: await counted(ofItsTokens('badgeAssignments')),
    transactions: await counted(underWay),
  }
}

/** With the tokens of it that no chip carries. */
export async function deleteContract(db: Queries, id: number): Promise<void> {
  await db.deleteFrom('tokens').where('contractId', '=', id).execute()
  await db.deleteFrom('contracts').where('id', '=', id).execute()
}
