import type { Logger } from 'pino'
import { KeyedMutex } from '../../values/semaphore.ts'
import type { Config } from '../config/config.ts'
import type { BatchDeps } from '../domain/batches/kind.ts'
import { BatchLoop } from '../domain/batches/loop.ts'
import type { Election } from '../store/lease/leader-election.ts'

type Deps = Omit<BatchDeps, 'minting' | 'feeCap' | 'baseUrl'> & {
  config: Config
  log: Logger
  election: Election
  baseUrl(): string
}

export function batchLoop({ config, log, election, baseUrl, ...rest }: Deps): BatchLoop {
  const feeCap = (chainId: number) => config.chains.find((chain) => chain.chainId === chainId)?.maxFeePerGas
  const deps: BatchDeps = {
    ...rest,
    minting: new KeyedMutex(),
    feeCap,
    // Known once the daemon listens.
    get baseUrl() {
      return baseUrl()
    },
  }
  return new BatchLoop(deps, election, log)
}
