import { spawn } from 'node:child_process'

type Env = Readonly<Record<string, string | undefined>>

/** @returns false if this machine has nothing to open a file with, or no screen */
export function openInBrowser(file: string, env: Env, platform = process.platform): Promise<boolean> {
  const [program, ...args] =
    platform === 'darwin' ? ['open'] : platform === 'win32' ? ['cmd', '/c', 'start', ''] : ['xdg-open']
  return new Promise((resolve) => {
    // Detached, since some of these stay as long as the browser does.
    const child = spawn(program ?? '', [...args, file], { stdio: 'ignore', detached: true, env: { ...env } })
    child.once('error', () => resolve(false))
    child.once('exit', (code) => resolve(code === 0))
    const grace = setTimeout(() => resolve(true), 3000)
    child.once('close', () => clearTimeout(grace))
    child.unref()
  })
}
