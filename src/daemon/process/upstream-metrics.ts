import { Gauge } from 'prom-client'
import type { Metrics } from './metrics.ts'

interface RpcUrl {
  chainId: number
  /** Host and port. */
  url: string
  isWell: boolean
  behind: number | undefined
  batch: number | undefined
  limitedUntil: number | undefined
}

export function watchRpcUrls({ registry }: Pick<Metrics, 'registry'>, urls: () => readonly RpcUrl[]): void {
  const gauge = (name: string, help: string, read: (url: RpcUrl) => number | undefined) =>
    new Gauge({
      name,
      help,
      labelNames: ['chain', 'url'],
      registers: [registry],
      collect() {
        this.reset()
        for (const one of urls()) {
          const value = read(one)
          if (value !== undefined) this.set({ chain: String(one.chainId), url: one.url }, value)
        }
      },
    })
  gauge('tapchip_rpc_up', '1 while an RPC URL can be used, by chain and host:port', ({ isWell }) =>
    Number(isWell),
  )
  gauge(
    'tapchip_rpc_behind_blocks',
    'How far an RPC URL is behind the best of its chain',
    ({ behind }) => behind,
  )
  gauge('tapchip_rpc_limited', '1 while an RPC URL limits requests and is not used', ({ limitedUntil }) =>
    Number(limitedUntil !== undefined),
  )
  gauge(
    'tapchip_rpc_batch_limit',
    'Calls that an RPC URL accepts in one batch; absent: the default',
    ({ batch }) => batch,
  )
}

/** @param signers one for each chain that has one */
export function watchSigners(
  { registry }: Pick<Metrics, 'registry'>,
  signers: () => readonly { chainId: number; host: string; problem: unknown }[],
): void {
  new Gauge({
    name: 'tapchip_signer_up',
    help: "1 while a remote signer signs and has the keys of a chain's relayers, by chain and host:port",
    labelNames: ['chain', 'signer'],
    registers: [registry],
    collect() {
      this.reset()
      for (const { chainId, host, problem } of signers())
        this.set({ chain: String(chainId), signer: host }, Number(problem === undefined))
    },
  })
}
