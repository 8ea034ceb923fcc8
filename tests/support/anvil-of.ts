import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'

/** The pid of the anvil of a data directory. */
export const anvilOf = (dataDir: string): number =>
  JSON.parse(readFileSync(join(dataDir, 'dev-chain', 'anvil.json'), 'utf8')).pid

/** One that has ended, and that nobody has waited for yet, does not run. */
export const runs = (pid: number): boolean => {
  try {
    return !/^State:\s*Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

/** What a daemon that was killed leaves behind, and no later one will find. */
export function endAnvilOf(dataDir: string): void {
  try {
    const pid = anvilOf(dataDir)
    if (readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(dataDir)) process.kill(pid, 'SIGKILL')
  } catch {
    // It has none.
  }
}

export const hasEnded = (pid: number) => expect.poll(() => runs(pid)).toBe(false)
