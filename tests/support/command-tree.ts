import type { Command } from 'commander'
import { attachVerbs, nouns } from '../../src/cli/program.ts'

/** Attaches the verbs of every noun, which a run does for the one that it needs. */
export async function loadAll(program: Command): Promise<void> {
  for (const noun of nouns) {
    const command = program.commands.find((c) => c.name() === noun.name)
    if (command) await attachVerbs(command, noun, async () => undefined)
  }
}
