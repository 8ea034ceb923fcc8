import { CliError, type ExitCode } from './errors.ts'

/** Reasons for the error codes of the system, with advice. */
const reasons: Readonly<Record<string, readonly [why: string, advice: string]>> = {
  EACCES: ['permission denied', 'Check who owns it (ls -ld), or use another place.'],
  EPERM: ['permission denied', 'Check who owns it (ls -ld), or use another place.'],
  EROFS: ['its file system is read-only', 'Use another place.'],
  ENOENT: ['it or its directory does not exist', 'Use another place.'],
  ENOTDIR: ['there is a file where a directory is needed', 'Move it away, or use another place.'],
  EEXIST: ['there is a file where a directory is needed', 'Move it away, or use another place.'],
  EISDIR: ['it is a directory', 'Give a file.'],
  EFTYPE: ['it is a pipe or a device', 'Move it away, or use another place.'],
  ELOOP: ['it is a link, or its links form a loop', 'Move it away, or use another place.'],
  ENAMETOOLONG: ['its name is too long', 'Give a shorter one.'],
  ENOSPC: ['the disk is full', 'Free some space.'],
  EDQUOT: ["this user's disk quota is used up", 'Free some space.'],
  EFBIG: ['the disk is full', 'Free some space.'],
  EIO: ['the disk has failed', 'Check the system log.'],
  EMFILE: ['this process has too many open files', 'Raise the limit: ulimit -n'],
  ENFILE: ['the system has too many open files', 'Close some programs.'],
}

interface ProblemText {
  /** Set if the system's error does not name the path, or names a part of it. */
  readonly path?: string
  readonly verb?: 'read' | 'written'
  /** Replaces the general advice, or follows it if another place alone would not help. */
  readonly advice?: string
  readonly exitCode?: ExitCode
}

/** Describes an error of the file system; undefined for any other. */
export const fileProblem = (error: unknown, messages: ProblemText = {}): CliError | undefined => {
  if (!(error instanceof Error) || !('code' in error) || !('syscall' in error)) return undefined
  const [why, advice] = reasons[String(error.code)] ?? []
  const path = messages.path ?? ('path' in error ? String(error.path) : undefined)
  if (why === undefined || advice === undefined || path === undefined) return undefined
  const isOfPlace = !/^(ENOSPC|EDQUOT|EFBIG|EIO|EMFILE|ENFILE)$/.test(String(error.code))
  const fullAdvice =
    messages.advice === undefined ? advice : isOfPlace ? messages.advice : `${advice} ${messages.advice}`
  return new CliError(`${path} cannot be ${messages.verb ?? 'used'}: ${why}.`, {
    advice: fullAdvice,
    cause: error,
    ...(messages.exitCode === undefined ? {} : { exitCode: messages.exitCode }),
  })
}

/** Runs `work`, and describes errors of the file system. */
export const withFiles = <T>(messages: ProblemText, work: () => T): T => {
  try {
    return work()
  } catch (error) {
    throw fileProblem(error, messages) ?? error
  }
}
