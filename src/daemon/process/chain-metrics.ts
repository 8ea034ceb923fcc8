import { Gauge } from 'prom-client'
import type { Metrics } from './metrics.ts'

export interface ChainBacklog {
  chainId: number
  /** The relayer's name. */
  signer: string
  jam: string | null
  balance: bigint | undefined
  unsettled: number
  inFlight: number
  waitingForFees: boolean
  waitingForFunds: boolean
  stuck: { id: number; why: string } | undefined
  trouble: Error | undefined
}

export function watchChains(
  { registry }: Pick<Metrics, 'registry'>,
  status: () => readonly ChainBacklog[],
): void {
  const sum = (one: number, other: number) => one + other
  const gauge = (
    name: string,
    help: string,
    read: (sending: ChainBacklog) => number,
    combine: (one: number, other: number) => number = Math.max,
  ) =>
    new Gauge({
      name,
      help,
      labelNames: ['chain'],
      registers: [registry],
      collect() {
        const byChain = new Map<number, number>()
        for (const one of status())
          byChain.set(one.chainId, combine(byChain.get(one.chainId) ?? 0, read(one)))
        this.reset()
        for (const [chain, value] of byChain) this.set({ chain: String(chain) }, value)
      },
    })
  const ofRelayer = (name: string, help: string, read: (sending: ChainBacklog) => number | undefined) =>
    new Gauge({
      name,
      help,
      labelNames: ['chain', 'relayer'],
      registers: [registry],
      collect() {
        this.reset()
        for (const sending of status()) {
          const value = read(sending)
          if (value !== undefined)
            this.set({ chain: String(sending.chainId), relayer: sending.signer }, value)
        }
      },
    })
  ofRelayer('tapchip_relayer_unsettled', 'Unsettled transactions, by relayer', (s) => s.unsettled)
  ofRelayer('tapchip_relayer_jammed', '1 while nothing is mined for a relayer', (s) => Number(s.jam !== null))
  ofRelayer('tapchip_relayer_balance', "A relayer's balance in the chain's coin", ({ balance }) =>
    balance === undefined ? undefined : Number(balance) / 1e18,
  )
  gauge('tapchip_transactions_unsettled', 'Unsettled transactions, by chain', (s) => s.unsettled, sum)
  gauge('tapchip_transactions_in_flight', 'Nonces issued but not mined, by chain', (s) => s.inFlight, sum)
  gauge('tapchip_chain_waiting_for_fees', '1 while the fees of a chain exceed the cap', (s) =>
    Number(s.waitingForFees),
  )
  gauge('tapchip_chain_waiting_for_funds', '1 while the relayer has no funds on a chain', (s) =>
    Number(s.waitingForFunds),
  )
  const trouble = '1 while a chain is unreachable or misconfigured, or a transaction cannot continue'
  gauge('tapchip_chain_trouble', trouble, (s) => Number(s.trouble !== undefined || s.stuck !== undefined))
}
