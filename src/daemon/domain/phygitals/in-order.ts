/**
 * Does a job for each item, so many at once, and yields what came of them in the order of the items. A job that
 * throws ends it at its turn; those that were begun come to their end all the same.
 */
export async function* inOrder<T, R>(
  items: readonly T[],
  atOnce: number,
  job: (item: T) => Promise<R>,
): AsyncGenerator<R> {
  const begun: Promise<{ result: R } | { error: unknown }>[] = []
  const begin = (item: T) => {
    begun.push(
      job(item).then(
        (result) => ({ result }),
        (error: unknown) => ({ error }),
      ),
    )
  }
  for (const item of items.slice(0, atOnce)) begin(item)
  for (let at = 0; at < items.length; at += 1) {
    const ended = await begun.shift()
    const next = items[at + atOnce]
    if (next !== undefined) begin(next)
    if (ended === undefined) return
    if ('error' in ended) throw ended.error
    yield ended.result
  }
}
