import { ChainUnavailable, RpcConnection } from '../rpc-connection.ts'

// A hundred catch-up blocks on a large state take seconds; a chain that hangs is restarted.
const patienceMs = 20_000
/** A large state, as one text. */
const mostBytes = 256 * 1024 * 1024

/** The way to an anvil of ours. It throws ChainUnavailable where nothing answers. */
export const connectTo = (url: string): RpcConnection =>
  new RpcConnection(url, {
    timeoutMs: patienceMs,
    maxBytes: mostBytes,
    failure: (cause) => new ChainUnavailable('The embedded dev chain does not answer. Try again.', { cause }),
  })

/** A dump of a large state takes longest. */
export const dumpTimeoutMs = 120_000
