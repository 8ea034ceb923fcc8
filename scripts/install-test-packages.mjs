// Installs what is in tests/package.json. It stands apart, so that a clone that runs no tests neither has it nor reads a
// warning of npm: POAP's own client names a later Node than the one that it works with.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const folder = fileURLToPath(new URL('../tests', import.meta.url))

const versionsIn = (path) => {
  const { packages } = JSON.parse(readFileSync(join(folder, path), 'utf8'))
  return Object.entries(packages).flatMap(([name, { version }]) => (name === '' ? [] : `${name} ${version}`))
}

const installed = 'node_modules/.package-lock.json'
const isThere =
  existsSync(join(folder, installed)) &&
  JSON.stringify(versionsIn(installed)) === JSON.stringify(versionsIn('package-lock.json'))

if (!isThere) {
  const { status } = spawnSync('npm', ['ci', '--loglevel=error', '--no-fund', '--no-audit'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
    shell: process.platform === 'win32',
  })
  process.exitCode = status ?? 1
}
