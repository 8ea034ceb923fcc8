/**
 * There is no anvil. Where there was no process at all (`hasRun` false) no other state of the chain and no other
 * address would help; a daemon that runs tries again, since others may give back what is missing.
 */
export class AnvilNotStarted extends Error {
  override readonly name = 'AnvilNotStarted'
  readonly hasRun: boolean
  constructor(message: string, { hasRun, cause }: { hasRun: boolean; cause?: unknown }) {
    super(message, { cause })
    this.hasRun = hasRun
  }
}

const noFiles =
  'this process has as many files and connections open as it may. Let it open more (ulimit -n, LimitNOFILE= of the unit)'

/** What the system says where it is short of something, which may be over at any moment, and what to do about it. */
const shortages: Readonly<Record<string, string>> = {
  EMFILE: noFiles,
  ENFILE: 'the system has as many files open as it may. End what holds them, or raise fs.file-max',
  EAGAIN: 'this user may start no more processes. End some, or allow more (ulimit -u, TasksMax= of the unit)',
  ENOMEM: 'there is no memory left for another process. Free some',
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : ''

/** Whether something failed for want of descriptors, processes or memory, however its error was wrapped. */
export const isShortage = (error: unknown): boolean =>
  codeOf(error) in shortages || (error instanceof Error && isShortage(error.cause))

/** Why a program could not be started, and what to do about it. */
export function notSpawned(program: string, error: unknown): AnvilNotStarted {
  const code = codeOf(error)
  const why =
    shortages[code] ??
    {
      ENOENT: 'it is not there. Install Tapchip again (npm install)',
      EACCES: 'this user may not run it. Install Tapchip again, or mend its mode: chmod 755',
    }[code] ??
    (error instanceof Error ? error.message : String(error))
  return new AnvilNotStarted(
    `The embedded chain cannot be started: ${program}: ${why}${code === '' ? '' : ` (${code})`}. ` +
      'To do without it: TAPCHIP_DEV_CHAIN=off.',
    { hasRun: false, cause: error },
  )
}
