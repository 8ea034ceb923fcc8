import type { CliContext } from '../context.ts'
import { UsageError } from '../errors.ts'
import type { Header } from './records.ts'

/** Which daemon answers at our address, for the header of a journal. Empty where it does not say. */
export const instanceNow = async (ctx: CliContext): Promise<{ readonly instance?: string }> => {
  try {
    const instance = await (await ctx.client()).instance()
    return instance === undefined ? {} : { instance }
  } catch {
    // Whatever keeps it from answering, what comes next will tell.
    return {}
  }
}

/**
 * Another daemon knows nothing of what a batch has done, and its rows may mean other things there.
 * @throws UsageError where another answers than the one that the batch began at
 */
export const assertSameDaemon = async (
  ctx: CliContext,
  header: Pick<Header, 'id' | 'url' | 'instance'>,
  { yes, say = '--yes' }: { readonly yes: boolean; readonly say?: string },
): Promise<void> => {
  const { url } = ctx.config()
  const isElsewhere = header.url !== url
  const { instance } = header.instance === undefined ? {} : await instanceNow(ctx)
  // A journal that is older than this, or a daemon that does not say: the address is all there is.
  const isKnown = instance !== undefined && header.instance !== undefined
  if (!isKnown || instance === header.instance || yes) {
    if (isElsewhere) ctx.io.warn(`This batch began at ${header.url}, and goes on at ${url}.`)
    return
  }
  throw new UsageError(
    `Batch ${header.id} began at another daemon, at ${header.url}: the one at ${url} is not it, and has done none of its rows.`,
    `Go to the daemon that it began at: --url or --context. If this one is meant all the same: ${say}`,
  )
}
