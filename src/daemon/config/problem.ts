export class ConfigProblem extends Error {
  override readonly name = 'ConfigProblem'
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'it does not exist',
  EACCES: 'this user has no permission to use it',
  EPERM: 'this user has no permission to use it',
  EISDIR: 'it is a directory',
  ENOTDIR: 'part of its path is a file, not a directory',
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
