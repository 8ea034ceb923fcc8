import type { Transport } from 'viem'
import { nodeTimeoutMs, RpcEndpoints } from '../../src/daemon/chain/rpc-transport.ts'

/** @param urls one, or several of the same chain */
export const rpcTransport = (urls: string | readonly string[], timeoutMs = nodeTimeoutMs): Transport =>
  new RpcEndpoints([urls].flat(), { timeoutMs }).transport
