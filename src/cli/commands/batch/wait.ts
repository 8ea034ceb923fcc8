import { setTimeout as sleep } from 'node:timers/promises'
import type { BatchApi } from '../../batch/batch-api.ts'
import { printWaiting } from '../../batch/follow.ts'
import { instanceNow } from '../../batch/instance.ts'
import { ReconnectPolicy } from '../../batch/reconnect-policy.ts'
import type { Batch } from '../../batch/sheet-kind.ts'
import type { CliContext } from '../../context.ts'
import { Interrupted } from '../../errors.ts'

const pollMs = 1000

/** Waits while a batch is scheduled or proposed. An interrupt ends the wait, and leaves the batch as it is. */
export const untilStarted = async (ctx: CliContext, api: BatchApi, batch: Batch): Promise<Batch> => {
  const isWaiting = ({ state }: Batch) => state === 'scheduled' || state === 'proposed'
  if (!isWaiting(batch)) return batch
  printWaiting(ctx, batch)
  const stop = new AbortController()
  const { signal } = stop
  const stopListening = ctx.system.interrupts.listen(() => stop.abort())
  try {
    const patience = new ReconnectPolicy(ctx, api.client, signal, (await instanceNow(ctx)).instance)
    for (let now = batch; ; ) {
      await sleep(pollMs, undefined, { signal }).catch(() => undefined)
      if (signal.aborted) throw new Interrupted(`Batch ${batch.id} stays ${now.state}.`)
      try {
        now = await api.show(batch.id)
      } catch (error) {
        await patience.wait(error)
      }
      if (!isWaiting(now)) return now
    }
  } finally {
    stopListening()
  }
}
