import { limitReached } from '../../store/data-dir/descriptors.ts'

/**
 * There is no anvil. If no process was started at all (`hasRun` false), another state or address would not
 * help; a running daemon retries, because the missing resource may become free.
 */
export class AnvilNotStarted extends Error {
  override readonly name = 'AnvilNotStarted'
  readonly hasRun: boolean
  constructor(message: string, { hasRun, cause }: { hasRun: boolean; cause?: unknown }) {
    super(message, { cause })
    this.hasRun = hasRun
  }
}

/** Shortages that may pass at any moment, and how to fix them. */
const shortages: Readonly<Record<string, string>> = {
  EMFILE: limitReached,
  ENFILE: 'the system has reached its limit of open files. Close some, or raise fs.file-max',
  EAGAIN:
    'this user has reached the limit of processes. End some, or raise it (ulimit -u, TasksMax= in the unit)',
  ENOMEM: 'there is not enough memory for another process. Free some',
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : ''

/** True for a shortage of descriptors, processes, or memory, even in a wrapped error. */
export const isResourceLimit = (error: unknown): boolean =>
  codeOf(error) in shortages || (error instanceof Error && isResourceLimit(error.cause))

export function notSpawned(program: string, error: unknown): AnvilNotStarted {
  const code = codeOf(error)
  const why =
    shortages[code] ??
    {
      ENOENT: 'it does not exist. Install Tapchip again (npm install)',
      EACCES: 'this user may not run it. Install Tapchip again, or fix its mode: chmod 755',
    }[code] ??
    (error instanceof Error ? error.message : String(error))
  return new AnvilNotStarted(
    `The embedded chain cannot be started: ${program}: ${why}${code === '' ? '' : ` (${code})`}. ` +
      'To run without it: TAPCHIP_DEV_CHAIN=off.',
    { hasRun: false, cause: error },
  )
}
