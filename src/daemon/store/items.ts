import type { Queries } from './database.ts'
import type { ItemRow } from './schema.ts'

/** An item with the contract of its tokens, if it has one. */
export interface ItemWithContract extends ItemRow {
  contractName: string | null
  contractSymbol: string | null
  contractAddress: string | null
  chainId: number | null
}

const withContract = (db: Queries) =>
  db
    .selectFrom('items')
    .leftJoin('contracts', 'contracts.id', 'items.contractId')
    .selectAll('items')
    .select([
      'contracts.name as contractName',
      'contracts.symbol as contractSymbol',
      'contracts.address as contractAddress',
      'contracts.chainId',
    ])

export const itemsOfTeam = (
  db: Queries,
  teamId: number,
  of?: { address: string; chainId: number },
): Promise<ItemWithContract[]> => {
  const query = withContract(db).where('items.teamId', '=', teamId).orderBy('items.createdAt').orderBy('items.id')
  if (!of) return query.execute()
  return query.where('contracts.address', '=', of.address).where('contracts.chainId', '=', of.chainId).execute()
}

export const findItem = (db: Queries, teamId: number, id: string): Promise<ItemWithContract | undefined> =>
  withContract(db).where('items.teamId', '=', teamId).where('items.id', '=', id).executeTakeFirst()
