import { Gauge } from 'prom-client'
import type { Chains } from '../chain/chains.ts'
import type { Metrics } from './metrics.ts'

/** @param open undefined until the chains are open */
export function watchChains({ registry }: Pick<Metrics, 'registry'>, open: () => Chains | undefined): void {
  const gauges =
    <T, Label extends string>(
      rowsOf: (chains: Chains) => readonly T[],
      labelNames: readonly Label[],
      labelsOf: (row: T) => Record<Label, string | number>,
    ) =>
    (name: string, help: string, read: (row: T) => number | boolean | undefined) =>
      new Gauge({
        name,
        help,
        labelNames,
        registers: [registry],
        collect() {
          this.reset()
          const chains = open()
          for (const row of chains ? rowsOf(chains) : []) {
            const value = read(row)
            if (value !== undefined) this.set(labelsOf(row), Number(value))
          }
        },
      })

  const ofChain = gauges(byChain, ['chain'], ({ chain }) => ({ chain }))
  ofChain('tapchip_transactions_unsettled', 'Unsettled transactions, by chain', ({ sum }) => sum('unsettled'))
  ofChain('tapchip_transactions_in_flight', 'Nonces issued but not mined, by chain', ({ sum }) =>
    sum('inFlight'),
  )
  ofChain('tapchip_chain_waiting_for_fees', '1 while the fees of a chain exceed the cap', ({ senders }) =>
    senders.some(({ waitingForFees }) => waitingForFees),
  )
  ofChain('tapchip_chain_waiting_for_funds', '1 while the relayer has no funds on a chain', ({ senders }) =>
    senders.some(({ waitingForFunds }) => waitingForFunds),
  )
  const trouble = '1 while a chain is unreachable or misconfigured, or a transaction cannot continue'
  ofChain('tapchip_chain_trouble', trouble, ({ senders }) =>
    senders.some((one) => one.trouble !== undefined || one.stuck !== undefined),
  )

  const ofRelayer = gauges(
    ({ relayer }) => relayer.status(),
    ['chain', 'relayer'],
    ({ chainId: chain, signer: relayer }) => ({ chain, relayer }),
  )
  ofRelayer('tapchip_relayer_unsettled', 'Unsettled transactions, by relayer', (one) => one.unsettled)
  ofRelayer('tapchip_relayer_jammed', '1 while nothing is mined for a relayer', ({ jam }) => jam !== null)
  ofRelayer('tapchip_relayer_balance', "A relayer's balance in the chain's coin", ({ balance }) =>
    balance === undefined ? undefined : Number(balance) / 1e18,
  )

  const ofUrl = gauges(urlsOf, ['chain', 'url'], ({ chain, url }) => ({ chain, url }))
  ofUrl('tapchip_rpc_up', '1 while an RPC URL can be used, by chain and host:port', ({ isWell }) => isWell)
  const behind = 'How far an RPC URL is behind the best of its chain'
  ofUrl('tapchip_rpc_behind_blocks', behind, (url) => url.behind)
  const limited = '1 while an RPC URL limits requests and is not used'
  ofUrl('tapchip_rpc_limited', limited, ({ limitedUntil }) => limitedUntil !== undefined)
  const batch = 'Calls that an RPC URL accepts in one batch; absent: the default'
  ofUrl('tapchip_rpc_batch_limit', batch, (url) => url.batch)

  gauges(signersOf, ['chain', 'signer'], ({ chain, host: signer }) => ({ chain, signer }))(
    'tapchip_signer_up',
    "1 while a remote signer signs and has the keys of a chain's relayers, by chain and host:port",
    ({ problem }) => problem === undefined,
  )
}

const byChain = ({ all, relayer }: Chains) =>
  all.map(({ id: chain }) => {
    const senders = relayer.status().filter(({ chainId }) => chainId === chain)
    const sum = (count: 'unsettled' | 'inFlight') => senders.reduce((total, one) => total + one[count], 0)
    return { chain, senders, sum }
  })

const urlsOf = ({ all }: Chains) =>
  all.flatMap(({ id: chain, endpoints }) => (endpoints?.health() ?? []).map((url) => ({ chain, ...url })))

/** One for each chain whose relayers have a remote signer. */
const signersOf = (chains: Chains) => [
  ...chains.all.flatMap(({ id: chain, relayers }) => {
    const signers = relayers.flatMap(({ remote }) => remote ?? [])
    const one = signers.find(({ problem }) => problem !== undefined) ?? signers[0]
    return one === undefined ? [] : { chain, host: one.host, problem: one.problem?.message }
  }),
  ...chains.late().map(({ chainId: chain, ...late }) => ({ chain, ...late })),
]
