import { existsSync, lstatSync, realpathSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/** Runs the steps that need root's rights, and nothing else. */
export type AsRoot = <R>(work: () => R) => R

/**
 * Root works as the owner of a directory, or of its future parent: links planted there by that user then give no
 * access to other users' files. Other users keep their own rights.
 */
export async function asOwnerOf<T>(dir: string, work: (asRoot: AsRoot) => Promise<T>): Promise<T> {
  const { uid, gid } = ownerOf(dir)
  const { geteuid, getegid, getgroups, seteuid, setegid, setgroups } = process
  if (!geteuid || !getegid || !getgroups || !seteuid || !setegid || !setgroups) return work((read) => read())
  if (geteuid() !== 0 || uid === 0) return work((read) => read())
  const before = { gid: getegid(), groups: getgroups() }
  setgroups([gid])
  setegid(gid)
  seteuid(uid)
  const asRoot: AsRoot = (read) => {
    seteuid(0)
    try {
      return read()
    } finally {
      seteuid(uid)
    }
  }
  try {
    return await work(asRoot)
  } finally {
    seteuid(0)
    setegid(before.gid)
    setgroups(before.groups)
  }
}

function ownerOf(dir: string): { uid: number; gid: number } {
  let there = resolve(dir)
  while (!existsSync(there) && dirname(there) !== there) there = dirname(there)
  return statSync(there)
}

/**
 * Checks, with root's rights, that a user cannot have created any part of a path.
 * @returns false if one of its folders or links belongs to the user, or lets others write
 */
export function isOutOfReach(path: string, uid: number): boolean {
  for (const start of [resolve(path), realpathSync(path)])
    for (let at = start; ; at = dirname(at)) {
      const stats = lstatSync(at)
      // In /tmp, nobody can replace files that belong to others.
      const isOpen = !stats.isSymbolicLink() && (stats.mode & 0o022) !== 0 && (stats.mode & 0o1000) === 0
      if (stats.uid === uid || isOpen) return false
      if (dirname(at) === at) break
    }
  return true
}
