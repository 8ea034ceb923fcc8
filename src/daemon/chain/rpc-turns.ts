import type { RpcCall, RpcOutcome } from './rpc-connection.ts'

interface Waiting {
  call: RpcCall
  resolve(outcome: RpcOutcome): void
  reject(error: unknown): void
}

/**
 * Has the calls of one turn of the event loop travel together: a connection's round trip costs more than a call
 * itself. @param mostTogether more of them than this are several batches
 */
export function callsOfOneTurn(
  perform: (calls: readonly RpcCall[]) => Promise<readonly RpcOutcome[]>,
  mostTogether: number,
): (call: RpcCall) => Promise<RpcOutcome> {
  let waiting: Waiting[] = []
  const endTurn = () => {
    const turn = waiting
    waiting = []
    for (let at = 0; at < turn.length; at += mostTogether) {
      const together = turn.slice(at, at + mostTogether)
      perform(together.map(({ call }) => call)).then(
        (outcomes) => {
          for (const [index, { resolve }] of together.entries())
            resolve(outcomes[index] ?? { error: { code: -32603, message: 'no answer' } })
        },
        (error: unknown) => {
          for (const { reject } of together) reject(error)
        },
      )
    }
  }
  return (call) =>
    new Promise((resolve, reject) => {
      if (waiting.length === 0) setImmediate(endTurn)
      waiting.push({ call, resolve, reject })
    })
}
