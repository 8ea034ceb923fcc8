import { spawn } from 'node:child_process'
import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { isCi, type System, stateDir } from '../system.ts'

const openers: Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
}

/** A browser of a desktop here could open a page. */
export const hasDesktop = (system: System): boolean => {
  const { env, platform = process.platform } = system
  const isRemote = Boolean(env.SSH_CONNECTION)
  if (isCi(system) || system.stdout.isTTY !== true || isRemote) return false
  return platform === 'darwin' || platform === 'win32' || Boolean(env.DISPLAY || env.WAYLAND_DISPLAY)
}

/**
 * Opens a link in the browser. Arguments of a process can be read by every user of the machine, so the browser is given a
 * file of ours that leads on.
 * @returns removes the file
 */
export function openInBrowser(system: System, link: string): () => void {
  const folder = stateDir(system)
  const file = join(folder, `console-${process.pid}.html`)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  writeFileSync(
    file,
    `<!doctype html><meta http-equiv="refresh" content="0;url=${link}"><a href="${link}">Tapchip</a>`,
    {
      mode: 0o600,
    },
  )
  chmodSync(file, 0o600)
  const [command, ...args] = openers[system.platform ?? process.platform] ?? ['xdg-open']
  const child = spawn(command, [...args, pathToFileURL(file).href], { stdio: 'ignore', detached: true })
  // The link is printed as well.
  child.once('error', () => undefined)
  child.unref()
  return () => rmSync(file, { force: true })
}
