import type { Insertable } from 'kysely'
import type { Queries } from '../database/database.ts'
import { affected, exists } from '../database/statement.ts'
import type { ItemRow, ItemsTable } from '../schema/schema.ts'

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

export interface ItemsPage {
  teamId: number
  contract: { address: string; chainId: number } | undefined
  after: Pick<ItemRow, 'createdAt' | 'id'> | undefined
  limit: number
}

/** Ordered by creation. Without `contract`, returns all items of the team. */
export const itemsPage = (
  db: Queries,
  { teamId, contract, after, limit }: ItemsPage,
): Promise<ItemWithContract[]> => {
  let query = withContract(db)
    .where('items.teamId', '=', teamId)
    .orderBy('items.createdAt')
    .orderBy('items.id')
    .limit(limit)
  if (after)
    query = query.where((eb) =>
      eb(eb.refTuple('items.createdAt', 'items.id'), '>', eb.tuple(after.createdAt, after.id)),
    )
  if (!contract) return query.execute()
  return query
    .where('contracts.address', '=', contract.address)
    .where('contracts.chainId', '=', contract.chainId)
    .execute()
}

export const findItem = (db: Queries, teamId: number, id: string): Promise<ItemWithContract | undefined> =>
  withContract(db).where('items.teamId', '=', teamId).where('items.id', '=', id).executeTakeFirst()

export const insertItem = (db: Queries, item: Insertable<ItemsTable>) =>
  affected(db.insertInto('items').values(item))

export const updateItem = (
  db: Queries,
  item: { teamId: number; id: string },
  change: Partial<Omit<ItemRow, 'teamId' | 'id'>>,
) => affected(db.updateTable('items').set(change).where('teamId', '=', item.teamId).where('id', '=', item.id))

export const deleteItem = (db: Queries, teamId: number, id: string) =>
  affected(db.deleteFrom('items').where('teamId', '=', teamId).where('id', '=', id))

export const isItemBound = (db: Queries, teamId: number, itemId: string) =>
  exists(db.selectFrom('chips').select('uid').where('teamId', '=', teamId).where('itemId', '=', itemId))

export async function boundVariants(db: Queries, teamId: number, itemId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('chips')
    .select('variantId')
    .distinct()
    .where('teamId', '=', teamId)
    .where('itemId', '=', itemId)
    .execute()
  return rows.flatMap(({ variantId }) => (variantId === null ? [] : [variantId]))
}
