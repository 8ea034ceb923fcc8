import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { build } from 'esbuild'
import { pad, toHex } from 'viem'
import { listTransactions } from '../../../src/daemon/store/chain/listing.ts'
import { startAnvil } from '../anvil.ts'
import { openTestStore } from '../engines.ts'
import { randomFrom } from '../random.ts'
import { askNode, relayerKey, tally } from '../relayer.ts'
import type { Web3signerStandIn } from '../web3signer.ts'

const root = resolve(import.meta.dirname, '../../..')

/** The child as a program that this version of Node runs: it finds its packages from where it lies. */
export async function buildChild(): Promise<string> {
  const folder = join(root, 'node_modules/.cache/tapchip-tests')
  mkdirSync(folder, { recursive: true })
  const outfile = join(folder, `relayer-child-${process.pid}.mjs`)
  const entryPoints = [join(root, 'tests/support/relayer/child.ts')]
  await build({
    entryPoints,
    outfile,
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    define: { __TAPCHIP_VERSION__: '"0.0.0-test"' },
  })
  return outfile
}

const pause = (ms: number) => new Promise((done) => setTimeout(done, ms))

export interface Crashed {
  /** How often each effect came; all must be 1. */
  effects: number[]
  /** Answers that differed from the first one to the same Idempotency-Key; must be none. */
  changedAnswers: number
  intents: number
  states: Set<string>
  /** Nonces used on the chain, and given out in the store: must be the same. */
  nonces: { used: number; given: number }
  kills: number
  /** Intents that were recorded and not settled at the kills, all together. */
  underWay: number
}

/**
 * A hundred intents under way; process and chain are killed together, at moments that the seed decides.
 * @param signer a remote one that has the key of `relayerKey`
 */
export async function crashRelayer(
  program: string,
  seed: number,
  { count = 100, signer }: { count?: number; signer?: Web3signerStandIn } = {},
): Promise<Crashed> {
  const random = randomFrom(seed)
  const directory = mkdtempSync(join(tmpdir(), 'tapchip-relayer-crash-'))
  const answers = new Map<string, string>()
  let changedAnswers = 0
  let dump: unknown
  let underWay = 0
  const kills = 1 + Math.floor(random() * 4)
  try {
    for (let round = 0; ; round++) {
      const anvil = await startAnvil(['--no-mining'])
      // The chain comes back as it was at some moment before, or empty.
      if (dump !== undefined && random() < 0.6) await askNode(anvil.url, 'anvil_loadState', [dump])
      await askNode(anvil.url, 'anvil_setCode', [tally.address, tally.code])
      const options = JSON.stringify({
        directory,
        url: anvil.url,
        tally: tally.address,
        count,
        signer: signer?.url,
      })
      const child = spawn(process.execPath, [program, options], { stdio: ['ignore', 'pipe', 'inherit'] })
      const exited = once(child, 'exit')
      let isDone = false
      const lines = createInterface({ input: child.stdout })
      lines.on('line', (line) => {
        if (line === 'done') isDone = true
        const [slot, hash] = line.split(' ')
        if (slot === undefined || hash === undefined) return
        if ((answers.get(slot) ?? hash) !== hash) changedAnswers += 1
        answers.set(slot, hash)
      })
      let over = false
      let block: Promise<unknown> = Promise.resolve()
      let isStill = false
      const mining = (async () => {
        while (!over) {
          if (!isStill) block = askNode(anvil.url, 'evm_mine').catch(() => undefined)
          await block
          await pause(2 + random() * 15)
        }
      })()
      // It goes away at times, and comes back with its keys in another order.
      if (signer && round > 0) signer.secrets = signer.secrets.toReversed()
      signer?.failFor('is cut off', Math.floor(random() * 60))
      if (round < kills) {
        // Anywhere in its life, or, mostly, while answers come.
        await Promise.race([random() < 0.3 ? pause(random() * 700) : once(lines, 'line'), exited])
        await pause(random() * 50)
        // anvil's dump is torn if a block is made meanwhile: a state that the chain never had.
        isStill = true
        await block
        dump = await askNode(anvil.url, 'anvil_dumpState').catch(() => dump)
        isStill = false
        await pause(random() * 50)
        child.kill('SIGKILL')
        await Promise.all([anvil.kill(), exited])
        underWay += await unsettledIn(directory)
        over = true
        await mining
        continue
      }
      await exited
      over = true
      await mining
      if (!isDone) throw new Error(`the child ended by itself in round ${round}`)
      const effects: number[] = []
      for (let slot = 1; slot <= count; slot++)
        effects.push(
          Number(await askNode(anvil.url, 'eth_getStorageAt', [tally.address, pad(toHex(slot)), 'latest'])),
        )
      const used = Number(await askNode(anvil.url, 'eth_getTransactionCount', [relayerKey.address, 'latest']))
      await anvil.kill()
      const db = await openTestStore(directory)
      const rows = (await listTransactions(db.read, { limit: 10_000 })).filter(({ kind }) => kind === 'tally')
      const given = (await db.read.selectFrom('senders').selectAll().executeTakeFirst())?.nextNonce ?? -1
      await db.close()
      const states = new Set<string>(rows.map(({ state }) => state))
      return {
        effects,
        changedAnswers,
        intents: rows.length,
        states,
        nonces: { used, given },
        kills,
        underWay,
      }
    }
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

async function unsettledIn(directory: string): Promise<number> {
  const db = await openTestStore(directory)
  const rows = await listTransactions(db.read, { limit: 10_000 })
  await db.close()
  return rows.filter(({ settledAt }) => settledAt === null).length
}
