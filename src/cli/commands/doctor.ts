import { defineCommand } from '../command/define.ts'
import { exitCodes } from '../errors.ts'
import { clean, counted } from '../io/text.ts'
import { checkDaemon } from './doctor/daemon.ts'
import { checkMachine } from './doctor/machine.ts'

const doctor = defineCommand({
  name: 'doctor',
  summary: 'Check that all is well; each line says the fix',
  examples: ['doctor', 'doctor --json | jq -r \'.[] | select(.status == "fail") | .fix\''],
  run: async (ctx) => {
    const findings = (await Promise.all([checkMachine(ctx), checkDaemon(ctx)])).flat()
    const colours = { ok: 'green', warn: 'yellow', fail: 'red' } as const
    if (ctx.io.json) await ctx.io.list(findings, {}, '')
    else {
      for (const { check, status, detail, fix } of findings) {
        const mark = ctx.io.style(colours[status], status.padEnd(4))
        await ctx.io.raw(
          `${mark}  ${check}: ${clean(detail.replace(/\.$/, ''))}${fix === null ? '' : `. Fix: ${clean(fix)}`}\n`,
        )
      }
    }
    // The sum comes after what it sums up, whichever of the two streams is shown first.
    await ctx.io.flush()
    const failed = findings.filter(({ status }) => status === 'fail').length
    const warned = findings.filter(({ status }) => status === 'warn').length
    if (failed > 0) ctx.io.note(`${counted(failed, 'check')} failed.`)
    else ctx.io.note(warned > 0 ? 'It works. What is marked warn is up to you.' : 'All is well.')
    return failed > 0 ? exitCodes.failed : exitCodes.done
  },
})

export const verb = doctor
