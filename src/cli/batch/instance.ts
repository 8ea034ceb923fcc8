import type { CliContext } from '../context.ts'
import { UsageError } from '../errors.ts'

/** The daemon that answers at our address, for the first line of a box. Empty if it does not say. */
export const instanceNow = async (ctx: CliContext): Promise<{ readonly instance?: string }> => {
  try {
    const instance = await (await ctx.client()).instance()
    return instance === undefined ? {} : { instance }
  } catch {
    // The next request reports the reason.
    return {}
  }
}

/** The hash of the last change that the daemon recorded, for the end of a box. */
export const auditHeadNow = async (ctx: CliContext): Promise<string | undefined> => {
  try {
    if (ctx.config().apiKey) return (await ctx.call('GET /team')).auditHead
    return (await ctx.call('GET /admin/audit/head')).head
  } catch {
    // The chips are done, and the box ends as they did.
    return undefined
  }
}

/**
 * Another daemon knows nothing of what a box did, and its rows may mean other things there, so no flag lets it go on
 * there. If the daemon does not tell which one it is, the address must be the same.
 * @throws UsageError if another daemon answers, or may be answering
 */
export const assertSameDaemon = async (
  ctx: CliContext,
  header: { readonly id: string; readonly url: string; readonly instance?: string | undefined },
): Promise<void> => {
  const { url } = ctx.config()
  const { instance } = header.instance === undefined ? {} : await instanceNow(ctx)
  const isKnown = instance !== undefined && header.instance !== undefined
  if (isKnown ? instance === header.instance : header.url === url) {
    if (header.url !== url) ctx.io.warn(`This batch started at ${header.url} and continues at ${url}.`)
    return
  }
  throw new UsageError(
    isKnown
      ? `Batch ${header.id} started at another daemon${header.url === url ? '' : `, at ${header.url}`}: the daemon at ${url} is a different one, and has processed none of its rows.`
      : `Batch ${header.id} started at ${header.url}, and it is not known whether ${url} is the same daemon.`,
    'Use the daemon that it started at: --url or --context. To run it at this one, start a new batch from the input.',
  )
}
