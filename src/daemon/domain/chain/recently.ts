import type { Chain } from '../../chain/chains.ts'

interface Kept {
  at: number
  answer: Promise<unknown>
}
const kept = new WeakMap<Chain, Map<string, Kept>>()
// Contracts that are asked about are the teams' own: no stranger makes this grow.
const most = 1000

/** Asks a chain something that hardly ever changes, unless that was asked a moment ago. A failure is not kept. */
export async function recently<T>(
  chain: Chain,
  what: string,
  forMs: number,
  ask: () => Promise<T>,
): Promise<T> {
  const ofChain = kept.get(chain) ?? new Map<string, Kept>()
  kept.set(chain, ofChain)
  const before = ofChain.get(what)
  // Only ever set below, by an `ask` of the same name.
  if (before && performance.now() - before.at < forMs) return before.answer as Promise<T>
  if (ofChain.size >= most) ofChain.clear()
  const answer = ask()
  ofChain.set(what, { at: performance.now(), answer })
  answer.catch(() => ofChain.delete(what))
  return answer
}
