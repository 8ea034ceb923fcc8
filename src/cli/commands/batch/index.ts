import { setTimeout as sleep } from 'node:timers/promises'
import type { BatchApi } from '../../batch/batch-api.ts'
import { reportBox, shownBox } from '../../batch/boxes.ts'
import { printWaiting } from '../../batch/follow.ts'
import { instanceNow, ReconnectPolicy } from '../../batch/reconnect-policy.ts'
import type { Batch } from '../../batch/sheet-kind.ts'
import { runOn } from '../../batch/submit.ts'
import { defineCommand } from '../../command/define.ts'
import { flag } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'
import { exitCodes, Interrupted } from '../../errors.ts'
import { readBox } from '../../nfc/saved-box.ts'
import { cancel, pause, remove } from './cancel.ts'
import { batchArgument, findBatch, printShown, shownBatch } from './find.ts'
import { list } from './list.ts'
import { approve, resume } from './resume.ts'
import { undo } from './undo.ts'

const status = defineCommand({
  name: 'status',
  summary: 'Show where a batch stands',
  examples: ['batch status b_1hq3v9k7s2m4xa', 'batch status friday-sale --json'],
  args: batchArgument,
  run: async (ctx, { args: { id } }) => {
    const box = readBox(ctx.system, id)
    const shown = box ? shownBox(box) : shownBatch((await findBatch(ctx, id)).batch)
    await printShown(ctx, shown)
    const next: { readonly [state in string]?: string } = {
      paused: `Continue: tapchip batch resume ${id}`,
      failed: `Continue: tapchip batch resume ${id}`,
      ...(box ? {} : { running: `Follow it: tapchip batch follow ${id}` }),
      proposed: `Approve it: tapchip batch approve ${id}`,
    }
    const hint = next[shown.state]
    if (hint !== undefined) ctx.io.hint(hint)
  },
})

const report = defineCommand({
  name: 'report',
  summary: 'Show the result of each row of a batch',
  examples: ['batch report b_1hq3v9k7s2m4xa', 'batch report friday-sale --failed --json'],
  args: batchArgument,
  options: { failed: flag('--failed', 'Only rows that failed or are in conflict') },
  run: async (ctx, { args: { id }, options }) => {
    const box = readBox(ctx.system, id)
    if (box) return reportBox(ctx, box, options.failed)
    const { api, batch, messages } = await findBatch(ctx, id)
    for await (const result of api.report(batch.id, options.failed)) {
      const shown = messages.shown?.(result, 'report') ?? result
      await ctx.io.line({ ...shown, status: result.status ?? 'pending' }, () => messages.describe(result))
    }
    // On standard error, so that the rows stay the only lines of the report.
    if (batch.auditHead !== null)
      ctx.io.note(`The audit log ended with ${batch.auditHead}. Check it: tapchip audit verify --batch ${id}`)
    return exitCodes.done
  },
})

const pollMs = 1000

/** Waits while a batch is scheduled or proposed. An interrupt ends the wait, and leaves the batch as it is. */
const untilStarted = async (ctx: CliContext, api: BatchApi, batch: Batch): Promise<Batch> => {
  const isWaiting = ({ state }: Batch) => state === 'scheduled' || state === 'proposed'
  if (!isWaiting(batch)) return batch
  printWaiting(ctx, batch)
  const stop = new AbortController()
  const { signal } = stop
  const stopListening = ctx.system.interrupts.listen(() => stop.abort())
  try {
    const reconnectPolicy = new ReconnectPolicy(ctx, api.client, signal, (await instanceNow(ctx)).instance)
    for (let now = batch; ; ) {
      await sleep(pollMs, undefined, { signal }).catch(() => undefined)
      if (signal.aborted) throw new Interrupted(`Batch ${batch.id} stays ${now.state}.`)
      try {
        now = await api.show(batch.id)
      } catch (error) {
        await reconnectPolicy.wait(error)
      }
      if (!isWaiting(now)) return now
    }
  } finally {
    stopListening()
  }
}

const follow = defineCommand({
  name: 'follow',
  summary: 'Show the rows of a batch as they are done, until it ends',
  description:
    'Show the rows of a batch as they are done, until it ends. Waits for one that is scheduled or proposed. Ctrl-C ' +
    'pauses a running batch; pressed again, it leaves it running.',
  examples: ['batch follow b_1hq3v9k7s2m4xa', 'batch follow friday-sale --json'],
  args: batchArgument,
  run: async (ctx, { args: { id } }) => {
    const { api, batch, messages } = await findBatch(ctx, id)
    const started = await untilStarted(ctx, api, batch)
    const flags = { yes: false, detach: false }
    return (await runOn(ctx, api, started, messages, { flags })).exitCode
  },
})

export const verbs = [list, status, follow, report, pause, resume, undo, approve, cancel, remove]
