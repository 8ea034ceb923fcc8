import { readdirSync } from 'node:fs'
import { journalDir } from '../../batch/journal.ts'
import { listGroups } from '../../chip-group.ts'
import type { Completion } from '../../command/options.ts'
import { readConfigFile } from '../../config-file.ts'
import { type CliContext, createContext } from '../../context.ts'

interface Candidate {
  readonly value: string
  readonly about: string
}

/** A person waits at the keyboard. */
const patienceSeconds = 0.7

/** Values that could stand here. Whatever fails offers none: a completion has nowhere to complain. */
export const valuesOf = async (ctx: CliContext, completion: Completion): Promise<Candidate[] | 'files'> => {
  if (completion === 'file') return 'files'
  if (typeof completion !== 'string') return completion.map((value) => ({ value, about: '' }))
  const hasty = createContext(ctx.at, { ...ctx.flags, timeoutSeconds: patienceSeconds })
  try {
    return await sources[completion](hasty)
  } catch {
    return []
  } finally {
    hasty.close()
  }
}

const sources = {
  'chip-group': async (ctx: CliContext) =>
    (await listGroups(ctx, undefined)).map(({ id, name }) => ({ value: name, about: `chip group ${id}` })),
  team: async (ctx: CliContext) =>
    (await ctx.call('GET /admin/teams')).map(({ id, name }) => ({ value: name, about: `team ${id}` })),
  'key-set': async (ctx: CliContext) =>
    (await ctx.call('GET /admin/key-sets')).map(({ id, diversification }) => ({
      value: String(id),
      about: diversification,
    })),
  context: async (ctx: CliContext) =>
    Object.entries(readConfigFile(ctx.at).contexts).map(([name, { url }]) => ({ value: name, about: url })),
  batch: async (ctx: CliContext) =>
    readdirSync(journalDir(ctx.at))
      .sort()
      .reverse()
      .slice(0, 20)
      .map((name) => ({ value: name.replace('.jsonl', ''), about: 'batch' })),
}
