import { closeSync, openSync } from 'node:fs'
import { devNull } from 'node:os'

export const limitReached =
  'this process has reached its limit of open files and connections. Raise it (ulimit -n, LimitNOFILE= in the unit)'

export class NoDescriptors extends Error {
  override readonly name = 'NoDescriptors'
  constructor(cause?: unknown) {
    super(`T${limitReached.slice(1)}, to 1024 or more.`, { cause })
  }
}

/** EMFILE is the limit of the process, ENFILE that of the system. */
export const isOfDescriptors = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && /^E[MN]FILE$/.test(String(error.code))

/** Finds out by opening some, since SQLite does not say why it could not open a file. */
export function lacksDescriptors(count: number): boolean {
  const opened: number[] = []
  try {
    while (opened.length < count) opened.push(openSync(devNull, 'r'))
    return false
  } catch (error) {
    return isOfDescriptors(error)
  } finally {
    for (const descriptor of opened) closeSync(descriptor)
  }
}
