import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pino from 'pino'
import {
  type Address,
  createPublicClient,
  createWalletClient,
  type Hex,
  isHex,
  padHex,
  publicActions,
  toHex,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import {
  type DevChain,
  type DevChainSettings,
  startDevChain,
} from '../../src/daemon/chain/dev-chain/dev-chain.ts'
import { SigningKey } from '../../src/daemon/chain/keys/signing-key.ts'

const relayerSecret: Hex = `0x${'5a'.repeat(32)}`
export const relayer = privateKeyToAccount(relayerSecret)
/** The same key as the daemon has it, which takes a third of the time. */
const signer = SigningKey.known(relayerSecret, relayer.address)
export const silent = pino({ level: 'silent' })

/** Directories and chains that go when a test ends, however it ends. */
export function devChains() {
  const dirs: string[] = []
  const open = new Set<DevChain>()
  const dir = () => {
    const made = mkdtempSync(join(realpathSync(tmpdir()), 'tapchip-chain-'))
    dirs.push(made)
    return made
  }
  return {
    dir,
    start: async (settings: Partial<DevChainSettings> = {}): Promise<DevChain> => {
      const chain = await startDevChain({
        dataDir: settings.dataDir ?? dir(),
        log: silent,
        rpcMode: 'guarded',
        relayers: () => [relayer.address],
        signedSince: () => [],
        names: {},
        ...settings,
      })
      open.add(chain)
      const stop = async () => {
        open.delete(chain)
        await chain.stop()
      }
      return Object.create(chain, { stop: { value: stop } })
    },
    /** Leaves a chain to the test, which has killed it. */
    clean: async () => {
      await Promise.allSettled([...open].map((chain) => chain.stop()))
      open.clear()
      for (const made of dirs.splice(0)) rmSync(made, { recursive: true, force: true })
    },
  }
}

export const clientOf = (chain: DevChain) =>
  createPublicClient({ chain: chain.chain, transport: chain.transport, cacheTime: 0, pollingInterval: 5 })

export const walletOf = (chain: DevChain, account = relayer) =>
  createWalletClient({ account, chain: chain.chain, transport: chain.transport, pollingInterval: 5 }).extend(
    publicActions,
  )

/** Whom the transfer of a nonce goes to, and nobody else's does. */
export const payee = (nonce: number): Address => padHex(toHex(0xaa0000 + nonce), { size: 20 })

/** One wei to the payee of this nonce. */
export const transfer = (
  nonce: number,
  by: Pick<SigningKey, 'signTransaction'> = signer,
  to = payee(nonce),
  value = 1n,
): Promise<Hex> =>
  by.signTransaction({
    type: 'eip1559',
    chainId: 31337,
    nonce,
    to,
    value,
    gas: 21_000n,
    maxFeePerGas: 3_000_000_000n,
    maxPriorityFeePerGas: 1_000_000_000n,
  })

export const transfers = (count: number, from = 0): Promise<Hex[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => transfer(from + index)))

export const send = (chain: DevChain, raw: Hex): Promise<unknown> =>
  chain.request({ method: 'eth_sendRawTransaction', params: [raw] })

/** How many of the first payees have their wei, and that nobody has two. */
export async function paid(chain: DevChain, count: number): Promise<bigint[]> {
  const client = clientOf(chain)
  return Promise.all(
    Array.from({ length: count }, (_, nonce) => client.getBalance({ address: payee(nonce) })),
  )
}

/** Waits for something to become true. @throws Error after thirty seconds */
export async function until(what: () => Promise<boolean> | boolean): Promise<void> {
  for (const end = Date.now() + 30_000; Date.now() < end; ) {
    if (await what()) return
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  throw new Error('it did not become true within 30 s')
}

/** What the process of dev-chain-owner.ts has stored; the last line may be half of one. */
export function storedIn(dataDir: string): Hex[] {
  const file = join(dataDir, 'stored.txt')
  return existsSync(file)
    ? readFileSync(file, 'utf8')
        .split('\n')
        .filter((line): line is Hex => isHex(line) && line.length > 200)
    : []
}

/** Ends a process at once, unless it has ended. */
export function killNow(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}
