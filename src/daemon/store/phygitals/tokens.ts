import { stringifyExact } from '../../../values/json.ts'
import { engineOf, type Queries } from '../database/database.ts'
import { affected, statement } from '../database/statement.ts'
import type { TokenRow } from '../schema/schema.ts'

export interface TokenLocation {
  contractAddress: string
  chainId: number
  tokenId: string
}

/** The topic of a token's transactions. */
export const tokenTopic = ({ contractAddress, chainId, tokenId }: TokenLocation): string =>
  `token:${chainId}/${contractAddress}/${tokenId}`

export interface LocatedToken extends TokenRow, TokenLocation {
  teamId: number
  twoTapDelaySeconds: number | null
  twoTapWindowSeconds: number | null
  contractStatus: 'pending' | 'confirmed'
  /** null if the contract was registered by address. */
  contractTransactionId: number | null
  contractProblem: string | null
  contractIsBound: number
  contractCalls: string | null
}

const located = (db: Queries) =>
  db
    .selectFrom('tokens')
    .innerJoin('contracts', 'contracts.id', 'tokens.contractId')
    .selectAll('tokens')
    .select([
      'contracts.address as contractAddress',
      'contracts.chainId',
      'contracts.teamId',
      'contracts.twoTapDelaySeconds',
      'contracts.twoTapWindowSeconds',
      'contracts.status as contractStatus',
      'contracts.transactionId as contractTransactionId',
      'contracts.problem as contractProblem',
      'contracts.isBound as contractIsBound',
      'contracts.calls as contractCalls',
    ])

const byRow = statement<{ id: number }>()((db, p) => located(db).where('tokens.id', '=', p.id))

export const findToken = (db: Queries, row: number): Promise<LocatedToken | undefined> =>
  byRow.first(db, { id: row })

const byLocation = statement<{ chainId: number; address: string; tokenId: string }>()((db, p) =>
  located(db)
    .where('contracts.chainId', '=', p.chainId)
    .where('contracts.address', '=', p.address)
    .where('tokens.tokenId', '=', p.tokenId),
)

/** @param token `contractAddress` as EIP-55 */
export const findTokenAt = (
  db: Queries,
  { chainId, contractAddress: address, tokenId }: TokenLocation,
): Promise<LocatedToken | undefined> => byLocation.first(db, { chainId, address, tokenId })

/** The first ones. */
export const someTokensOf = async (db: Queries, contractId: number): Promise<string[]> => {
  const tokens = db.selectFrom('tokens').select('tokenId').where('contractId', '=', contractId)
  return (await tokens.orderBy('id').limit(3).execute()).map(({ tokenId }) => tokenId)
}

/** Tokens that have an owner from a seed but no mint. */
export const tokensToMint = (db: Queries, chainId: number): Promise<LocatedToken[]> =>
  located(db)
    .where('contracts.chainId', '=', chainId)
    .where('contracts.transactionId', 'is not', null)
    .where('tokens.owner', 'is not', null)
    .where('tokens.mintTransactionId', 'is', null)
    .orderBy('tokens.id')
    .execute()

const mint = statement<{ id: number; transactionId: number }>()((db, p) =>
  db.updateTable('tokens').set({ mintTransactionId: p.transactionId }).where('id', '=', p.id),
)
export const setMintTransaction = (db: Queries, id: number, transactionId: number) =>
  mint.run(db, { id, transactionId })

const claim = statement<{ id: number; at: string }>()((db, p) =>
  db.updateTable('tokens').set({ claimedAt: p.at }).where('id', '=', p.id),
)
/** A code of a tap claimed it. */
export const setClaimedAt = (db: Queries, id: number, at: string) => claim.run(db, { id, at })

const describe = statement<{ id: number; metadata: string | null }>()((db, p) =>
  db.updateTable('tokens').set({ metadata: p.metadata }).where('id', '=', p.id),
)
export const setTokenMetadata = (db: Queries, id: number, metadata: string | null) =>
  describe.run(db, { id, metadata })

export async function ensureToken(
  db: Queries,
  token: { contractId: number; tokenId: string; owner?: string; metadata?: string; createdAt: string },
): Promise<number> {
  const there = await db
    .selectFrom('tokens')
    .select('id')
    .where('contractId', '=', token.contractId)
    .where('tokenId', '=', token.tokenId)
    .executeTakeFirst()
  if (there) return there.id
  const { id } = await db
    .insertInto('tokens')
    .values({ ...token, owner: token.owner ?? null, metadata: token.metadata ?? null })
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

export async function ensureTokens(
  db: Queries,
  tokens: readonly { contractId: number; tokenId: string }[],
  createdAt: string,
): Promise<{ id: number; contractId: number; tokenId: string }[]> {
  const rows: { id: number; contractId: number; tokenId: string }[] = []
  for (const contractId of new Set(tokens.map((token) => token.contractId))) {
    const ofContract = tokens.filter((token) => token.contractId === contractId)
    const ids = engineOf(db).listed(ofContract.map(({ tokenId }) => tokenId))
    await db
      .insertInto('tokens')
      .columns(['contractId', 'tokenId', 'createdAt'])
      .expression(
        db
          .selectFrom(ids.$castTo<{ value: string }>().as('given'))
          .select((e) => [
            e.val(contractId).as('contractId'),
            'given.value',
            e.val(createdAt).as('createdAt'),
          ])
          // Without WHERE, SQLite parses ON CONFLICT as a join condition.
          .where((e) => e.lit(true)),
      )
      .onConflict((conflict) => conflict.doNothing())
      .execute()
    const query = db.selectFrom('tokens').select(['id', 'contractId', 'tokenId'])
    rows.push(...(await query.where('contractId', '=', contractId).where('tokenId', 'in', ids).execute()))
  }
  return rows
}

/** Sets only missing values. */
export async function describeTokenOnce(
  db: Queries,
  token: { contractId: number; tokenId: string; owner?: string | undefined; metadata?: object | undefined },
): Promise<void> {
  const { contractId, tokenId, owner, metadata } = token
  const values = { owner: owner ?? null, metadata: metadata === undefined ? null : stringifyExact(metadata) }
  await db
    .updateTable('tokens')
    .set((eb) => ({
      owner: eb.fn.coalesce('owner', eb.val(values.owner)),
      metadata: eb.fn.coalesce('metadata', eb.val(values.metadata)),
    }))
    .where('contractId', '=', contractId)
    .where('tokenId', '=', tokenId)
    .execute()
}

const findTaken = statement<{ contractId: number; tokenId: string }>()((db, p) =>
  db
    .selectFrom('tokens')
    .select('id')
    .where('contractId', '=', p.contractId)
    .where('tokenId', '=', p.tokenId),
)
// Longer IDs are usually hashes and are not incremented.
const numbered = (db: Queries, contractId: number, after: number) =>
  db
    .selectFrom('tokens as one')
    .where('one.contractId', '=', contractId)
    .where((e) => e(e.fn('length', ['one.tokenId']), '<=', 15))
    .where((e) => e(e.cast('one.tokenId', 'integer'), '>', after))
    .where((e) =>
      e.not(
        e.exists(
          e
            .selectFrom('tokens as next')
            .select('next.id')
            .whereRef('next.contractId', '=', 'one.contractId')
            .where((f) =>
              f(
                'next.tokenId',
                '=',
                f.cast<string>(f(f.cast<number>('one.tokenId', 'integer'), '+', f.lit(1)), 'text'),
              ),
            ),
        ),
      ),
    )
    .select((e) => e.fn.min(e.cast<number>('one.tokenId', 'integer')).as('last'))

/** @returns the lowest free token ID above `after`, decimal */
export async function freeTokenId(db: Queries, contractId: number, after: bigint): Promise<string> {
  const next = String(after + 1n)
  if (!(await findTaken.first(db, { contractId, tokenId: next }))) return next
  const { last } = await numbered(db, contractId, Number(after)).executeTakeFirstOrThrow()
  return String(BigInt(last ?? after) + 1n)
}

export const openMintsOf = async (db: Queries, contractId: number): Promise<number[]> => {
  const rows = await db
    .selectFrom('tokens')
    .innerJoin('transactions', 'transactions.id', 'tokens.mintTransactionId')
    .select('transactions.id')
    .where('tokens.contractId', '=', contractId)
    .where('transactions.settledAt', 'is', null)
    .execute()
  return rows.map(({ id }) => id)
}

/** Makes the next deployment mint the tokens of a seed. */
export const forgetMints = (db: Queries, contractId: number) =>
  affected(db.updateTable('tokens').set({ mintTransactionId: null }).where('contractId', '=', contractId))
