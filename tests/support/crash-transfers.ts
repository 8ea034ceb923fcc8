import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Address, createPublicClient, getAddress, http, padHex, parseAbiItem, toHex } from 'viem'
import { killNow } from './dev-chain.ts'
import { openTestStore } from './engines.ts'
import { type DaemonProcess, spawnDaemon } from './process.ts'
import { randomFrom } from './random.ts'
import { alice, derived, tokenSeed } from './seeds.ts'
import { tap, tapPath } from './taps.ts'

const count = 100
const numbers = Array.from({ length: count }, (_, index) => index + 1)
const uidOf = (n: number): string => `04C0${n.toString(16).padStart(8, '0').toUpperCase()}80`
/** Ten recipients share a hundred tokens, so that their claim nonces are predicted as well. */
const recipientOf = (n: number): Address => getAddress(padHex(toHex(0xbb0000 + (n % 10)), { size: 20 }))

const seedFile = tokenSeed(count, (n) => ({ uid: uidOf(n), owner: alice }))

const pause = (ms: number) => new Promise((done) => setTimeout(done, ms))
export const transferEvent = parseAbiItem(
  'event Transfer(address indexed from, address indexed to, uint256 indexed tokenId)',
)

export interface CrashedTransfers {
  /** Per token: how often it moved after it was minted; all must be 1. */
  moves: number[]
  /** Tokens that are not where they were sent. */
  misplaced: number
  /** Codes that are not used up, or whose first answer changed. */
  goodCodes: number
  changedAnswers: number
  /** Transactions of transfers, and how they ended. */
  transfers: { count: number; states: string[] }
  /** Nonces used on the chain, and given out in the store: must be the same. */
  nonces: { used: number; given: number }
  kills: number
  /** Requests that were answered before the last kill. */
  answeredBefore: number
}

/**
 * A hundred people transfer the token of their chip by code, all at once, while daemon and chain are killed together at
 * moments that the seed decides; each repeats their request with the same Idempotency-Key until it is answered.
 */
export async function crashTransfers(seed: number, kills = 2): Promise<CrashedTransfers> {
  const random = randomFrom(seed)
  const dataDir = mkdtempSync(join(tmpdir(), 'tapchip-crash-'))
  writeFileSync(join(dataDir, 'seed.json'), JSON.stringify(seedFile))
  const args = ['--data-dir', dataDir, '--port', '0', '--log-level', 'error']
  const env = { TAPCHIP_RATE_LIMIT: 'off' }
  const start = () => spawnDaemon([...args, '--seed', join(dataDir, 'seed.json')], env)
  let daemon: DaemonProcess = await start()
  try {
    const codes = new Map<number, string>()
    for (const n of numbers) {
      const path = tapPath(tap(derived, { uid: uidOf(n) }, 1), '/chips/find')
      const answer: unknown = await (await fetch(daemon.ready.url + path)).json()
      codes.set(n, codeIn(answer))
    }
    const answers = new Map<number, string>()
    let changedAnswers = 0
    let onAnswer = () => {}
    const send = async (n: number): Promise<void> => {
      const answer = await fetch(`${daemon.ready.url}/phygitals/transfer/pullable`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'x-svc-code': codes.get(n) ?? '',
          'idempotency-key': `transfer-${n}`,
        },
        body: JSON.stringify({ recipient: recipientOf(n) }),
      })
      const text = await answer.text()
      onAnswer()
      if (!answer.ok) return
      if (answers.has(n) && answers.get(n) !== text) changedAnswers += 1
      answers.set(n, text)
    }
    const sendAll = () => Promise.allSettled(numbers.map(send))

    let answeredBefore = 0
    for (let kill = 0; kill < kills; kill++) {
      const killAfter = Math.floor(random() * count)
      let answered = 0
      const enough = new Promise<void>((resolve) => {
        onAnswer = () => {
          answered += 1
          if (answered > killAfter) resolve()
        }
      })
      const sending = sendAll()
      await Promise.race([enough, sending])
      answeredBefore = answers.size
      const anvil = pidOfAnvil(dataDir)
      await Promise.all([daemon.kill(), killNow(anvil)])
      await sending
      daemon = await start()
    }
    for (let round = 0; answers.size < count && round < 20; round++) await sendAll()
    // All of it once more: a repetition gets the first answer.
    await sendAll()
    return {
      ...(await judge(daemon, dataDir, codes)),
      changedAnswers,
      kills,
      answeredBefore,
    }
  } finally {
    await daemon.stop()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

async function judge(daemon: DaemonProcess, dataDir: string, codes: ReadonlyMap<number, string>) {
  const db = await openTestStore(dataDir)
  try {
    const mine = db.read
      .selectFrom('transactions')
      .select(['state', 'settledAt', 'chainId'])
      .where('kind', '=', 'phygital-transfer')
    for (let round = 0; round < 200; round++) {
      if ((await mine.where('settledAt', 'is', null).execute()).length === 0) break
      await pause(50)
    }
    const transfers = await mine.execute()
    const { address } = await db.read.selectFrom('contracts').select('address').executeTakeFirstOrThrow()
    const sender = await db.read.selectFrom('senders').selectAll().executeTakeFirstOrThrow()
    const client = createPublicClient({ transport: http(daemon.ready.chains['31337']) })
    const logs = await client.getLogs({ address: getAddress(address), event: transferEvent, fromBlock: 0n })
    const of = (n: number) => logs.filter(({ args }) => args.tokenId === BigInt(n))
    let goodCodes = 0
    for (const code of codes.values()) {
      const otp: unknown = await (await fetch(`${daemon.ready.url}/otps/${code}`)).json()
      if (JSON.stringify(otp).includes('"isExpired":false')) goodCodes += 1
    }
    return {
      // The first is the mint.
      moves: numbers.map((n) => of(n).length - 1),
      misplaced: numbers.filter((n) => of(n).at(-1)?.args.to !== recipientOf(n)).length,
      goodCodes,
      transfers: { count: transfers.length, states: [...new Set(transfers.map(({ state }) => state))] },
      nonces: {
        used: await client.getTransactionCount({ address: getAddress(sender.address) }),
        given: sender.nextNonce,
      },
    }
  } finally {
    await db.close()
  }
}

export function pidOfAnvil(dataDir: string): number | undefined {
  try {
    const file: unknown = JSON.parse(readFileSync(join(dataDir, 'dev-chain', 'anvil.json'), 'utf8'))
    return typeof file === 'object' && file !== null && 'pid' in file ? Number(file.pid) : undefined
  } catch {
    return undefined
  }
}

export function codeIn(answer: unknown): string {
  const code = /"code":"([^"]{21})"/.exec(JSON.stringify(answer))?.[1]
  if (code === undefined) throw new Error(`the tap gave no code: ${JSON.stringify(answer)}`)
  return code
}
