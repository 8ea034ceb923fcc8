import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { replaceFile } from '../../values/files.ts'
import { defineCommand } from '../command/define.ts'
import { text } from '../command/options.ts'
import type { CliContext } from '../context.ts'
import { UsageError } from '../errors.ts'
import { withFiles } from '../file-problem.ts'
import { formatNumber } from '../io/text.ts'
import { secretsOf, sections } from './bugreport/collect.ts'
import { scrubber } from './bugreport/scrub.ts'

const about = {
  contains:
    'It contains versions; the machine; settings by name, and where they come from; the status of the daemon and its chains; ' +
    "what doctor says; services and processes; names and sizes of the daemon's files; the kinds of the last changes, " +
    'without what was changed; batches by kind and result, without their rows; the last lines of the log.',
  without:
    'It does not contain keys, tokens, codes, refs, taps, e-mail addresses, recipients, device ids, hashes, or paths of ' +
    'URLs: they are left out, or removed wherever they appear.',
  check: 'It may contain UIDs of chips, host names, and names that you chose. Read it before you share it.',
}

export const verb = defineCommand({
  name: 'bugreport',
  summary: 'Collect diagnostics for a support request, without secrets',
  description: `Write one JSON file that describes this installation. ${about.contains} ${about.without} ${about.check}`,
  examples: ['bugreport', 'bugreport --out report.json', 'bugreport --out - | less'],
  options: { out: text('--out <file>', 'Where to write it; - is standard output', 'file') },
  run: async (ctx, { options }) => {
    const at = ctx.now().toISOString()
    const name = options.out ?? `tapchip-bugreport-${at.slice(0, 19).replaceAll(':', '-')}.json`
    const path = resolve(ctx.system.cwd, name)
    const isFile = name !== '-'
    if (isFile && existsSync(path))
      throw new UsageError(`${path} exists. Nothing was written.`, 'Choose another one: --out FILE')
    await ctx.beforeChange(`Would write ${path}`)
    const scrub = scrubber(secretsOf(ctx), ctx.system.home)
    const parts: Record<string, unknown> = {}
    for (const [section, collect] of Object.entries(sections)) parts[section] = await collected(ctx, collect)
    // Scrubbed last and as a whole, so that no part can be forgotten.
    const report = `${JSON.stringify({ about, at, ...(scrub(parts) as object) }, null, 2)}\n`
    if (!isFile) return ctx.io.raw(report)
    withFiles({ path, verb: 'written' }, () => replaceFile(path, report))
    const sizeBytes = Buffer.byteLength(report)
    await ctx.io.one({ path, sizeBytes, sections: Object.keys(parts) }, (it) => ({
      Report: it.path,
      Size: `${formatNumber(it.sizeBytes)} bytes`,
      Contains: it.sections,
    }))
    ctx.io.note(`${about.without}\n${about.check}`)
  },
})

const collected = async (ctx: CliContext, collect: (ctx: CliContext) => unknown): Promise<unknown> => {
  try {
    return await collect(ctx)
  } catch (error) {
    return { missing: error instanceof Error ? error.message : String(error) }
  }
}
