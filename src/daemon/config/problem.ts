/** An invalid setting. The message names it and says what it must be. */
export class ConfigProblem extends Error {
  override readonly name = 'ConfigProblem'
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'it is not there',
  EACCES: 'this user may not use it',
  EPERM: 'this user may not use it',
  EISDIR: 'it is a directory',
  ENOTDIR: 'a file stands where a directory is needed',
  EROFS: 'its file system is read-only',
  ENOSPC: 'the disk is full',
}

/**
 * Explains why a file or directory named by the operator cannot be used. Unknown errors keep their own message.
 */
export function describeFileError(error: unknown): string {
  // The engine's own message may quote the file, which may contain keys.
  if (error instanceof SyntaxError) {
    const [position] = /position \d+/.exec(error.message) ?? []
    return `it is not valid JSON${position ? ` at ${position}` : ''}`
  }
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return reasons[code] ?? (error instanceof Error ? error.message : String(error))
}
