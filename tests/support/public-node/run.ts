import { expect } from 'vitest'
import type { Case } from './cases.ts'
import { swallow } from './modes.ts'
import { assertOnce, type Spent } from './outcome.ts'
import { openStage, type Setting, type Stage } from './stage.ts'

export async function withStage<T>(setting: Setting, job: (stage: Stage) => Promise<T>): Promise<T> {
  const stage = await openStage(setting)
  try {
    await stage.allSettled()
    return await job(stage)
  } finally {
    await stage.close()
  }
}

async function actAndEnd(stage: Stage, { lost }: Pick<Case, 'lost'> = {}): Promise<Spent> {
  const before = stage.nodes.map((node) => ({ node, modes: node.modes }))
  if (lost) for (const { node, modes } of before) node.modes = [swallow, ...modes]
  await stage.act()
  if (lost === 'interference') await stage.interfere()
  for (const { node, modes } of before) node.modes = modes
  return assertOnce(stage)
}

let known: Promise<Spent> | undefined

/** What the actions cost at a node without faults. */
export const honest = (blockMs?: number): Promise<Spent> => {
  known ??= withStage({ blockMs }, (stage) => actAndEnd(stage))
  return known
}

/** Each action is confirmed once, for at most twice as much as at an honest node that takes no smaller tip. */
export async function assertConfirmedOnce(one: Case): Promise<void> {
  const spent = await withStage(one, (stage) => actAndEnd(stage, one))
  const { wei, transactions } = await honest(one.blockMs)
  expect(Number(spent.wei) / Number(wei) / (one.gwei ?? 1)).toBeLessThanOrEqual(2)
  // The nonce that somebody else took is used once more. What reverted has had no effect, and is paid for above.
  const effects = spent.transactions - spent.failed
  expect(effects).toBeLessThanOrEqual(transactions + (one.lost === 'interference' ? 1 : 0))
}
