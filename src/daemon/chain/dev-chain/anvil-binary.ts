import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { AnvilNotStarted } from './not-started.ts'

/** The version that npm installs. Older ones lack flags that we use. */
const oldest = [1, 7, 1] as const

/**
 * The program of npm's package for this system, else the `anvil` of Foundry in PATH.
 * @throws AnvilNotStarted that says what to install
 */
export function anvilBinary(): string {
  const architecture = process.arch === 'x64' ? 'amd64' : process.arch
  const system = `${process.platform}-${architecture}`
  // The package's own script is one more process, which would outlive or hide the chain.
  const program = `bin/anvil${process.platform === 'win32' ? '.exe' : ''}`
  try {
    return createRequire(import.meta.url).resolve(`@foundry-rs/anvil-${system}/${program}`)
  } catch (cause) {
    const inPath = anvilInPath()
    if (inPath !== undefined) return inPath
    throw missing(
      `npm did not install anvil for ${system}, and there is none in PATH. Install Foundry`,
      cause,
    )
  }
}

/** @throws AnvilNotStarted if it is too old */
function anvilInPath(): string | undefined {
  const [finder, ...args] =
    process.platform === 'win32' ? ['where', 'anvil'] : ['sh', '-c', 'command -v anvil']
  const found = outputOf(finder ?? '', args).split(/\r?\n/)[0]
  if (!found) return undefined
  const versionText = outputOf(found, ['--version'])
  const version = /(\d+)\.(\d+)\.(\d+)/.exec(versionText)?.slice(1).map(Number)
  if (version === undefined) throw missing(`${found} does not print its version. Install Foundry again`)
  const at = oldest.findIndex((part, i) => part !== version[i])
  if (at >= 0 && (version[at] ?? 0) < (oldest[at] ?? 0))
    throw missing(
      `${found} is version ${version.join('.')}, and ${oldest.join('.')} is needed. Update Foundry`,
    )
  return found
}

const outputOf = (command: string, args: string[]): string =>
  spawnSync(command, args, { encoding: 'utf8', timeout: 10_000, stdio: ['ignore', 'pipe', 'ignore'] })
    .stdout ?? ''

const missing = (why: string, cause?: unknown): AnvilNotStarted =>
  new AnvilNotStarted(
    `The embedded chain cannot be started: ${why} (https://getfoundry.sh), or run without the chain: TAPCHIP_DEV_CHAIN=off.`,
    { hasRun: false, cause },
  )
