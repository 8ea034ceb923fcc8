import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { build } from 'esbuild'
import { afterAll, afterEach, beforeAll } from 'vitest'
import * as z from 'zod'
import { anvilBinary } from '../../src/daemon/chain/dev-chain/anvil-binary.ts'
import { devChains, killNow } from './dev-chain.ts'

const folder = mkdtempSync(join(tmpdir(), 'tapchip-chain-owner-'))
const bundled = join(folder, 'owner.mjs')
const running = new Set<() => void>()

// A test that fails leaves nothing behind: what it started ends with the process that ran it.
process.on('exit', endOwners)

/** Ends every owner and its chain, and removes the bundle. */
function endOwners(): void {
  rmSync(folder, { recursive: true, force: true })
  for (const end of running) end()
  running.clear()
}

/** Bundles the process that owns a chain; once is enough. */
const bundleOwner = () =>
  build({
    entryPoints: [join(import.meta.dirname, 'dev-chain-owner.ts')],
    outfile: bundled,
    bundle: true,
    platform: 'node',
    format: 'esm',
    define: { __TAPCHIP_VERSION__: '"0.0.0-test"' },
    banner: { js: "import{createRequire as r}from'node:module';const require=r(import.meta.url)" },
  })

/** Directories and chains of a file's tests, with owners that are processes of their own; all end with the tests. */
export function ownedDevChains() {
  const chains = devChains()
  beforeAll(async () => {
    await bundleOwner()
  })
  afterEach(() => chains.clean())
  afterAll(endOwners)
  return chains
}

/** A process of its own that starts a chain and sends transfers through it. */
export async function spawnOwner(dataDir: string, count: number) {
  const child = spawn(process.execPath, [bundled, dataDir, anvilBinary(), String(count)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    // It lies in a temporary directory, from where no package is found.
    env: { ...process.env, NODE_PATH: join(import.meta.dirname, '../../node_modules') },
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const first = await lines.next()
  const { pid, rpcUrl } = ownerLine.parse(JSON.parse(String(first.value)))
  const endAll = () => {
    child.kill('SIGKILL')
    killNow(pid)
  }
  running.add(endAll)
  return {
    /** anvil's. */
    chainPid: pid,
    rpcUrl,
    done: () => lines.next(),
    kill: async () => {
      const gone = once(child, 'exit')
      if (child.kill('SIGKILL')) await gone
    },
  }
}

const ownerLine = z.object({ pid: z.number(), rpcUrl: z.string() })
