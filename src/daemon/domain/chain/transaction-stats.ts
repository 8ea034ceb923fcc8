import type { Chains } from '../../chain/chains.ts'
import { isGroup } from '../../store/chain/intents.ts'
import {
  type CountedTransaction,
  type OpenTransactions,
  openByState,
  recentTransactions,
} from '../../store/chain/recent-transactions.ts'
import type { Db } from '../../store/database/database.ts'
import type { TransactionStateName } from '../../store/schema/schema.ts'
import { type Clock, iso } from '../time/time.ts'
import { typicalGas, typicalPrice } from './prices.ts'

interface Deps {
  db: Pick<Db, 'slow'>
  clock: Pick<Clock, 'now'>
  chains: Pick<Chains, 'all' | 'relayer'>
}

export interface TransactionStats {
  /** Unsettled ones. */
  open: OpenTransactions[]
  /** Settled ones of the last 30 days. */
  settled: { state: TransactionStateName; transactions: number }[]
  /** From being recorded to being final, of the last 7 days, in seconds. */
  waits: { chainId: number; transactions: number; p50: number; p90: number }[]
  /** Gas by the limits of what was mined, oldest first. */
  days: { day: string; chainId: number; transactions: number; gas: number }[]
  /** What the relayers of a chain can still pay for at the present price. Null: unknown. */
  money: { chainId: number; transactionsLeft: number | null; daysLeft: number | null }[]
  /** False: only the newest transactions are counted. */
  isComplete: boolean
}

const dayMs = 86_400_000
const daysShown = 30
const paceDays = 7
/** Rows that are looked at, however many there are. */
const maxTransactions = 10_000
const maxOpen = 20_000

/** @param teamId undefined: of all teams */
export async function transactionStats(
  { db, clock, chains }: Deps,
  teamId: number | undefined,
): Promise<TransactionStats> {
  const now = clock.now()
  const since = iso(now - daysShown * dayMs)
  const paceSince = iso(now - paceDays * dayMs)
  const chainIds = chains.all.map(({ id }) => id)
  const { rows, isComplete } = await recentTransactions(db.slow, { teamId, since, limit: maxTransactions })
  const open = await openByState(db.slow, { teamId, chainIds, limit: maxOpen })
  // What sends others is no work of its own.
  const own = rows.filter(({ kind }) => !isGroup(kind))
  const settled = new Map<TransactionStateName, number>()
  for (const { state, settledAt } of own)
    if (settledAt !== null) settled.set(state, (settled.get(state) ?? 0) + 1)
  const recent = own.filter(({ settledAt }) => settledAt !== null && settledAt >= paceSince)
  return {
    open,
    settled: [...settled].map(([state, transactions]) => ({ state, transactions })),
    waits: chainIds.flatMap((chainId) => waitsOf(chainId, recent) ?? []),
    days: gasByDay(rows),
    money: await moneyOf(chains, rows, paceSince),
    isComplete,
  }
}

function waitsOf(chainId: number, rows: readonly CountedTransaction[]) {
  const seconds = rows
    .filter((row) => row.chainId === chainId && row.state === 'confirmed')
    .map(({ createdAt, settledAt }) => (Date.parse(settledAt ?? createdAt) - Date.parse(createdAt)) / 1000)
    .sort((a, b) => a - b)
  if (seconds.length === 0) return undefined
  const at = (share: number) => seconds[Math.min(seconds.length - 1, Math.floor(share * seconds.length))] ?? 0
  return { chainId, transactions: seconds.length, p50: at(0.5), p90: at(0.9) }
}

function gasByDay(rows: readonly CountedTransaction[]): TransactionStats['days'] {
  const days = new Map<string, TransactionStats['days'][number]>()
  for (const { settledAt, chainId, gas } of rows) {
    if (settledAt === null || gas === null) continue
    const day = settledAt.slice(0, 10)
    const of = days.get(`${day} ${chainId}`) ?? { day, chainId, transactions: 0, gas: 0 }
    of.transactions += 1
    of.gas += Number(gas)
    days.set(`${day} ${chainId}`, of)
  }
  return [...days.values()].sort((a, b) => (a.day < b.day ? -1 : 1))
}

const moneyOf = (
  chains: Deps['chains'],
  rows: readonly CountedTransaction[],
  since: string,
): Promise<TransactionStats['money']> =>
  Promise.all(
    chains.all.map(async (chain) => {
      const known = chains.relayer
        .status()
        .flatMap(({ chainId, balance }) => (chainId === chain.id && balance !== undefined ? [balance] : []))
      const price = known.length === 0 ? 0n : await typicalPrice(chain).catch(() => 0n)
      if (price === 0n) return { chainId: chain.id, transactionsLeft: null, daysLeft: null }
      const transactionsLeft = Number(known.reduce((all, one) => all + one, 0n) / price)
      const spent = rows.filter(
        ({ chainId, settledAt }) => chainId === chain.id && settledAt !== null && settledAt >= since,
      )
      const gasPerDay = spent.reduce((all, { gas }) => all + Number(gas ?? 0), 0) / paceDays
      const daysLeft = gasPerDay === 0 ? null : (transactionsLeft * Number(typicalGas)) / gasPerDay
      return { chainId: chain.id, transactionsLeft, daysLeft }
    }),
  )
