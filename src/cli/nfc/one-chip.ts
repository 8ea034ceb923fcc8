import { CardGone } from '../../nfc/card.ts'
import type { CliContext } from '../context.ts'
import { type ExitCode, exitCodes } from '../errors.ts'
import { bothForms } from '../uid.ts'
import { oneLine } from './errors.ts'
import type { Order, SessionHooks, SessionResult } from './forward-apdus.ts'
import { cardTimeoutMs, type ReaderChoice, withReaders } from './readers.ts'
import { makeSessionRunner, runSession } from './run-session.ts'
import { withStop } from './stop.ts'

/**
 * Runs an order on the chip on the reader, or on the next one. A chip that is lifted too early may be put down again.
 * @throws as relay, and NoCard
 */
export const runOnChip = (
  ctx: CliContext,
  reader: ReaderChoice,
  order: Order,
  onInspected?: SessionHooks['onInspected'],
): Promise<SessionResult> =>
  withStop(ctx, async (stop) => {
    ctx.needAdmin()
    if (ctx.flags.dryRun) await ctx.call('POST /admin/nfc/sessions', { body: order })
    await ctx.beforeWrite()
    return withReaders(ctx, reader, async (opened) => {
      const runner = await makeSessionRunner(ctx, opened, { stop })
      const end = ctx.now().getTime() + cardTimeoutMs(ctx)
      for (;;) {
        const remainingMs = Math.max(0, end - ctx.now().getTime())
        const card = await opened.nextCard({ timeoutMs: remainingMs, signal: stop.now })
        try {
          const options = { stop, ...(onInspected ? { onInspected } : {}) }
          return await runSession(runner, card, order, options)
        } catch (error) {
          if (!(error instanceof CardGone)) throw error
          ctx.io.warn(oneLine(error))
        } finally {
          await card.release()
        }
      }
    })
  })

export const printResult = async (
  ctx: CliContext,
  { uid, status, error, warning }: SessionResult,
  label?: string,
): Promise<ExitCode> => {
  const line = {
    uid,
    status,
    ...(error === undefined ? {} : { error }),
    ...(warning === undefined ? {} : { warning }),
  }
  await ctx.io.line(
    line,
    () =>
      `${uid === null ? 'unknown chip' : bothForms(uid)}  ${status}${label === undefined ? '' : `  ${label}`}`,
  )
  if (error !== undefined && !ctx.io.json) ctx.io.warn(error)
  if (warning !== undefined && !ctx.io.json) ctx.io.warn(warning)
  return status === 'failed' ? exitCodes.failed : exitCodes.done
}
