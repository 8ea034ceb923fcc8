import { randomBytes } from 'node:crypto'
import { EmulatedCard } from './emulator/card.ts'
import { factoryMemory } from './emulator/memory.ts'
import { VirtualNtag424 } from './emulator/ntag424.ts'
import { newUid } from './emulator/readers.ts'
import { runScript } from './script.ts'
import { selftest } from './selftest.ts'
import { type TranscriptLine, transcriptDifferences } from './transcript.ts'

/**
 * Holds a self-test on a real chip against the virtual one: does the same on that, and says where the answers differ.
 * None is proof, as far as the transcript goes, that the virtual chip is like the real one.
 */
export async function replaySelftest(recorded: readonly TranscriptLine[]): Promise<string[]> {
  const replayed: TranscriptLine[] = []
  const chip = new VirtualNtag424(factoryMemory(newUid()))
  const note = (line: TranscriptLine) => replayed.push(line)
  await runScript(new EmulatedCard('replay', chip), selftest({ random: randomBytes, note }))
  return transcriptDifferences(recorded, replayed)
}
