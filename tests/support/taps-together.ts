import type { Db } from '../../src/daemon/store/database/database.ts'

/** Holds taps back until there are so many, and takes them in one turn of the event loop. */
export function together(count: number, takeTap: Db['takeTap']): Db['takeTap'] {
  const waiting: (() => void)[] = []
  return async (tap) => {
    await new Promise<void>((resolve) => {
      waiting.push(resolve)
      if (waiting.length === count) for (const go of waiting.splice(0)) go()
    })
    return takeTap(tap)
  }
}
