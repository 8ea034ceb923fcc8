import { ChainUnavailable, RpcConnection } from '../rpc-connection.ts'
import { rpcOverHttp } from '../rpc-http.ts'
import { rpcOverSocket } from './rpc-over-socket.ts'

// A hundred catch-up blocks on a large state take seconds; a chain that hangs is restarted.
const patienceMs = 20_000
/** A large state, as one text. */
const mostBytes = 256 * 1024 * 1024

const unix = 'unix:'

/** The way to an anvil of ours, by `http://…` or `unix:/path`. It throws ChainUnavailable where nothing answers. */
export const connectTo = (url: string): RpcConnection =>
  new RpcConnection(url, url.startsWith(unix) ? rpcOverSocket(url.slice(unix.length)) : rpcOverHttp(url), {
    timeoutMs: patienceMs,
    maxBytes: mostBytes,
    failure: (cause) => new ChainUnavailable('The embedded dev chain does not answer. Try again.', { cause }),
  })

/** A dump of a large state takes longest. */
export const dumpTimeoutMs = 120_000
