import type { CliContext } from '../context.ts'
import { UsageError } from '../errors.ts'
import type { Header } from './journal.ts'

/** The daemon that answers at our address, for the header of a journal. Empty if it does not tell. */
export const instanceNow = async (ctx: CliContext): Promise<{ readonly instance?: string }> => {
  try {
    const instance = await (await ctx.client()).instance()
    return instance === undefined ? {} : { instance }
  } catch {
    // The next request reports the reason.
    return {}
  }
}

/**
 * Another daemon knows nothing of what a batch did, and its rows may mean other things there, so no flag lets a batch
 * continue at another daemon. If the daemon does not tell which one it is, the address must be the same.
 * @throws UsageError if another daemon answers, or may be answering
 */
export const assertSameDaemon = async (
  ctx: CliContext,
  header: Pick<Header, 'id' | 'url' | 'instance'>,
): Promise<void> => {
  const { url } = ctx.config()
  const { instance } = header.instance === undefined ? {} : await instanceNow(ctx)
  const isKnown = instance !== undefined && header.instance !== undefined
  if (isKnown ? instance === header.instance : header.url === url) {
    if (header.url !== url) ctx.io.warn(`This batch began at ${header.url}, and goes on at ${url}.`)
    return
  }
  throw new UsageError(
    isKnown
      ? `Batch ${header.id} began at another daemon${header.url === url ? '' : `, at ${header.url}`}: a different daemon is at ${url} now, and has done none of its rows.`
      : `Batch ${header.id} began at ${header.url}, and it does not show whether ${url} leads to the same daemon.`,
    'Go to the daemon that it began at: --url or --context. To do it at this one, start a new batch from the input.',
  )
}
