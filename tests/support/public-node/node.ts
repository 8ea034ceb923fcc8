import { type Misbehaviour, openHostileNode } from '../hostile-node.ts'
import { askNode } from '../relayer.ts'
import type { Mode } from './modes.ts'

/** A node as the public ones are, in front of one without faults. */
export interface PublicNode {
  url: string
  /** The first that has something to say about a call decides. May be exchanged at any time. */
  modes: readonly Mode[]
  /** What was called, and when, in milliseconds. */
  calls: { method: string; at: number }[]
  /** Calls that came together. */
  largestBatch: number
  /** What it said to transactions that it did not take. */
  refused: string[]
  close(): Promise<void>
}

/** @param upstream the URL of the node behind it */
export async function openPublicNode(upstream: string, modes: readonly Mode[] = []): Promise<PublicNode> {
  const proxy = await openHostileNode(upstream)
  const { url, close } = proxy
  const node: PublicNode = { url, modes, calls: [], largestBatch: 0, refused: [], close }
  proxy.misbehave = async (call, at) => {
    node.calls.push({ method: call.method, at: performance.now() })
    node.largestBatch = Math.max(node.largestBatch, at.batch)
    for (const mode of node.modes) {
      const own = await mode(call, { ...at, ask: (method, params) => askNode(upstream, method, params) })
      if (own === undefined) continue
      if (call.method === 'eth_sendRawTransaction') node.refused.push(...wordsOf(own))
      return own
    }
    return undefined
  }
  return node
}

const wordsOf = (own: Misbehaviour): string[] =>
  typeof own === 'object' && 'error' in own ? [own.error] : []
