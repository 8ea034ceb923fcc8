/**
 * Does a job for each item, so many at once, and yields what came of them in the order of the items. A job that
 * throws ends it at its turn; those that were begun come to their end all the same.
 */
export async function* inOrder<T, R>(
  items: AsyncIterable<T>,
  atOnce: number,
  job: (item: T) => Promise<R>,
): AsyncGenerator<R> {
  const begun: Promise<{ result: R } | { error: unknown }>[] = []
  const first = async (): Promise<R> => {
    const ended = await begun.shift()
    if (ended === undefined) throw new Error('none was begun')
    if ('error' in ended) throw ended.error
    return ended.result
  }
  for await (const item of items) {
    begun.push(
      job(item).then(
        (result) => ({ result }),
        (error: unknown) => ({ error }),
      ),
    )
    if (begun.length >= atOnce) yield await first()
  }
  while (begun.length > 0) yield await first()
}
