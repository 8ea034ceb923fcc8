import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createPublicClient, getAddress, http, padHex, toHex } from 'viem'
import { codeIn, pidOfAnvil, transferEvent } from './crash-transfers.ts'
import { killNow } from './dev-chain.ts'
import { openTestStore } from './engines.ts'
import { type DaemonProcess, spawnDaemon } from './process.ts'
import { randomFrom } from './random.ts'
import { acmeKey, alice, derived } from './seeds.ts'
import { tap, tapPath } from './taps.ts'

const numbers = Array.from({ length: 24 }, (_, n) => n)
const uidOf = (n: number): string => `04C0${n.toString(16).padStart(8, '0').toUpperCase()}80`
const redirectOf = (n: number, change: number): string => `https://ledger.example/${n}/${change}`

const seedFile = (withChain: boolean) => ({
  version: 1,
  keySets: [derived],
  teams: [
    {
      name: 'Acme',
      apiKeys: [{ name: 'ops', key: acmeKey }],
      ...(withChain ? { contracts: [{ symbol: 'JKT', name: 'Jackets', chainId: 31337 }] } : {}),
      chipGroups: [
        {
          name: 'Jackets',
          chips: numbers.map((n) => ({
            uid: uidOf(n),
            keySet: 101,
            redirectUrl: redirectOf(n, 0),
            ...(withChain ? { token: { contract: 'JKT', tokenId: String(n + 1), owner: alice } } : {}),
          })),
        },
      ],
    },
  ],
})

/** What the holder of one chip knows: what was answered, and what was asked and not answered. */
class Holder {
  readonly n: number
  counter = 0
  /** Counters of taps that were answered valid. */
  readonly taps: number[] = []
  /** Refs that were answered valid: each is, once. */
  readonly refs: string[] = []
  /** How the redirect was changed: the last that was answered, and the last that was asked for. */
  redirect = { answered: 0, asked: 0 }
  /** Who the token was sent to, in order. */
  readonly recipients: string[] = []
  /** A transfer that has no answer yet: it is asked for again, with the same key. */
  transfer: { code: string; recipient: string; key: string } | undefined
  readonly answersOfTransfers = new Map<string, string>()

  constructor(n: number) {
    this.n = n
  }

  /** The path of a tap that was never shown before. */
  next(path: '/t' | '/chips/find'): { path: string; counter: number } {
    const counter = ++this.counter
    return { path: this.at(counter, path), counter }
  }

  at(counter: number, path: '/t' | '/chips/find'): string {
    return tapPath(tap(derived, { uid: uidOf(this.n) }, counter), path)
  }
}

export interface Ledger {
  kills: number
  /** What was answered, of each kind. */
  answered: { taps: number; refs: number; edits: number; transfers: number }
  /** What was answered and is not on record: must be nothing. */
  lost: string[]
  /** What came twice: must be nothing. */
  twice: string[]
  /** What was refused though it should not have been: must be nothing. */
  refused: string[]
}

/**
 * Two dozen holders tap, query refs and change redirects, and where there is a chain send their tokens on, each one thing
 * after another, while the daemon is killed again and again on one data directory: after so many answers as the seed says.
 * What was answered is written down here, outside, and compared with what is there in the end.
 */
export async function crashWithLedger(
  seed: number,
  { rounds, withChain }: { rounds: number; withChain: boolean },
): Promise<Ledger> {
  const random = randomFrom(seed)
  const dataDir = mkdtempSync(join(tmpdir(), 'tapchip-ledger-'))
  const file = join(dataDir, 'seed.json')
  writeFileSync(file, JSON.stringify(seedFile(withChain)))
  const args = ['--data-dir', dataDir, '--port', '0', '--log-level', 'error']
  const env = { TAPCHIP_RATE_LIMIT: 'off', TAPCHIP_DEV_CHAIN: withChain ? 'on' : 'off' }
  const holders = numbers.map((n) => new Holder(n))
  const ledger: Ledger = {
    kills: 0,
    answered: { taps: 0, refs: 0, edits: 0, transfers: 0 },
    lost: [],
    twice: [],
    refused: [],
  }
  let daemon = await spawnDaemon([...args, '--seed', file], env)
  try {
    for (let round = 0; round < rounds; round++) {
      await killAmid(daemon, holders, ledger, {
        answers: 1 + Math.floor(random() * 60),
        // Its chain mostly dies with it, as with the machine; else it is found by the next start.
        anvil: withChain && random() < 0.7 ? pidOfAnvil(dataDir) : undefined,
        withChain,
      })
      daemon = await spawnDaemon(args, env)
      await askAgain(daemon, holders, ledger)
    }
    await settle(daemon, holders, ledger)
    if (withChain) await compareChain(daemon, dataDir, holders, ledger)
    await verifyAudit(daemon, dataDir, ledger)
    await daemon.stop()
    await compareRecords(dataDir, holders, ledger)
    return ledger
  } finally {
    await daemon.stop()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

interface Round {
  answers: number
  anvil: number | undefined
  withChain: boolean
}

/** All holders at once, until so many answers have come; then nobody waits for what is still under way. */
async function killAmid(
  daemon: DaemonProcess,
  holders: readonly Holder[],
  ledger: Ledger,
  { answers, anvil, withChain }: Round,
): Promise<void> {
  let left = answers
  let killed: Promise<unknown> | undefined
  const answered = () => {
    left -= 1
    if (left > 0 || killed) return
    killed = Promise.all([daemon.kill(), anvil === undefined ? undefined : killNow(anvil)])
  }
  await Promise.all(
    holders.map(async (holder) => {
      for (let step = 0; !killed; step++) {
        const isAnswered = await stepOf(holder, step, withChain, daemon, ledger)
        if (!isAnswered) break
        answered()
      }
    }),
  )
  await killed
  ledger.kills += 1
}

/** One thing that a holder does. @returns false where the connection broke */
async function stepOf(
  holder: Holder,
  step: number,
  withChain: boolean,
  daemon: DaemonProcess,
  ledger: Ledger,
): Promise<boolean> {
  if (withChain) return (await sendToken(holder, daemon, ledger)) !== undefined
  if ((holder.n + step) % 4 === 1) return changeRedirect(holder, daemon, ledger)
  if ((holder.n + step) % 4 === 2) return queryRef(holder, daemon, ledger)
  return (await tapOnce(holder, daemon, ledger)) !== undefined
}

interface Answer {
  status: number
  text: string
  location: string | null
}

/** @returns undefined where no whole answer came */
async function ask(daemon: DaemonProcess, path: string, init: RequestInit = {}): Promise<Answer | undefined> {
  try {
    const answer = await fetch(daemon.ready.url + path, { redirect: 'manual', ...init })
    return {
      status: answer.status,
      text: await answer.text(),
      location: answer.headers.get('location'),
    }
  } catch {
    return undefined
  }
}

const isValid = (answer: Answer): boolean => /"isValid(Tap|Ref)":true/.test(answer.text)
const said = (what: string, { status, text }: Answer): string => `${what}: ${status} ${text.slice(0, 200)}`

async function tapOnce(holder: Holder, daemon: DaemonProcess, ledger: Ledger): Promise<Answer | undefined> {
  const { path, counter } = holder.next('/chips/find')
  const answer = await ask(daemon, path)
  if (!answer) return undefined
  if (isValid(answer)) {
    holder.taps.push(counter)
    ledger.answered.taps += 1
  } else ledger.refused.push(said(`tap ${counter} of ${holder.n}`, answer))
  return answer
}

async function queryRef(holder: Holder, daemon: DaemonProcess, ledger: Ledger): Promise<boolean> {
  const { path, counter } = holder.next('/t')
  const page = await ask(daemon, path)
  if (!page) return false
  const ref = new URL(page.location ?? 'http://none/').searchParams.get('svcRef')
  if (ref === null) {
    ledger.refused.push(said(`page ${counter} of ${holder.n}`, page))
    return true
  }
  holder.taps.push(counter)
  ledger.answered.taps += 1
  const answer = await ask(daemon, `/refs/${ref}`)
  if (!answer) return false
  if (isValid(answer)) {
    holder.refs.push(ref)
    ledger.answered.refs += 1
  } else ledger.refused.push(said(`ref of ${holder.n}`, answer))
  return true
}

async function changeRedirect(holder: Holder, daemon: DaemonProcess, ledger: Ledger): Promise<boolean> {
  const change = ++holder.redirect.asked
  const answer = await ask(daemon, '/chips', {
    method: 'PATCH',
    headers: { 'x-svc-api-key': acmeKey, 'content-type': 'application/json' },
    body: JSON.stringify({
      tagUIDs: [uidOf(holder.n)],
      updates: { redirectUrl: redirectOf(holder.n, change) },
    }),
  })
  if (!answer) return false
  if (answer.status === 200) {
    holder.redirect.answered = change
    ledger.answered.edits += 1
  } else ledger.refused.push(said(`edit of ${holder.n}`, answer))
  return true
}

/** Taps for a code and sends the token to somebody new with it; a request that was not answered is repeated first. */
async function sendToken(holder: Holder, daemon: DaemonProcess, ledger: Ledger): Promise<Answer | undefined> {
  if (!holder.transfer) {
    const tapped = await tapOnce(holder, daemon, ledger)
    if (!tapped) return undefined
    const recipient = getAddress(padHex(toHex(0xcc0000 + holder.n * 1000 + holder.counter), { size: 20 }))
    holder.transfer = {
      code: codeIn(JSON.parse(tapped.text)),
      recipient,
      key: `${holder.n}-${holder.counter}`,
    }
  }
  const { code, recipient, key } = holder.transfer
  const answer = await ask(daemon, '/phygitals/transfer/pullable', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-svc-code': code, 'idempotency-key': key },
    body: JSON.stringify({ recipient }),
  })
  if (!answer) return undefined
  if (answer.status === 200) {
    holder.recipients.push(recipient)
    holder.answersOfTransfers.set(JSON.stringify(holder.transfer), answer.text)
    holder.transfer = undefined
    ledger.answered.transfers += 1
  } else if (answer.status < 500 && answer.status !== 429)
    ledger.refused.push(said(`transfer ${key}`, answer))
  return answer
}

/** After a kill: what was answered valid is not valid again, and a transfer's answer is the one that was given. */
async function askAgain(daemon: DaemonProcess, holders: readonly Holder[], ledger: Ledger): Promise<void> {
  await Promise.all(
    holders.map(async (holder) => {
      const counter = holder.taps.at(-1)
      const again = counter === undefined ? undefined : await ask(daemon, holder.at(counter, '/chips/find'))
      if (again && isValid(again)) ledger.twice.push(`tap ${counter} of ${holder.n}`)
      const ref = holder.refs.at(-1)
      const queried = ref === undefined ? undefined : await ask(daemon, `/refs/${ref}`)
      if (queried && isValid(queried)) ledger.twice.push(`ref ${ref} of ${holder.n}`)
    }),
  )
}

/** Until nobody waits for an answer any more; then all transfers are asked for once more. */
async function settle(daemon: DaemonProcess, holders: readonly Holder[], ledger: Ledger): Promise<void> {
  await Promise.all(
    holders.map(async (holder) => {
      for (let tries = 0; holder.transfer && tries < 100; tries++) await sendToken(holder, daemon, ledger)
      if (holder.transfer) ledger.refused.push(`transfer ${holder.transfer.key} has no answer`)
      for (const [asked, first] of holder.answersOfTransfers) {
        holder.transfer = JSON.parse(asked)
        const count = ledger.answered.transfers
        await sendToken(holder, daemon, ledger)
        ledger.answered.transfers = count
        holder.recipients.pop()
        if (holder.answersOfTransfers.get(asked) !== first) ledger.twice.push(`answer to ${asked}`)
      }
    }),
  )
}

/** The audit log has every change that was answered, and its chain is whole. */
async function verifyAudit(daemon: DaemonProcess, dataDir: string, ledger: Ledger): Promise<void> {
  const authorization = `Bearer ${readFileSync(join(dataDir, 'admin.token'), 'utf8').trim()}`
  const answer = await ask(daemon, '/admin/audit/verify', { headers: { authorization } })
  const verdict = JSON.parse(answer?.text.trim().split('\n').at(-1) ?? '{}')
  const { edits, transfers } = ledger.answered
  if (verdict.ok !== true || verdict.entries < edits + transfers)
    ledger.lost.push(`an entry of the audit log: ${JSON.stringify(verdict)}`)
}

/** Each token went to those who were answered, once each and in their order, and to nobody else. */
async function compareChain(
  daemon: DaemonProcess,
  dataDir: string,
  holders: readonly Holder[],
  ledger: Ledger,
): Promise<void> {
  const db = await openTestStore(dataDir)
  const client = createPublicClient({ transport: http(daemon.ready.chains['31337']) })
  try {
    const open = db.read.selectFrom('transactions').select('id').where('settledAt', 'is', null)
    for (let round = 0; (await open.execute()).length > 0 && round < 1200; round++)
      await new Promise((done) => setTimeout(done, 50))
    const contract = await db.read.selectFrom('contracts').select('address').executeTakeFirstOrThrow()
    const address = getAddress(contract.address)
    const logs = await client.getLogs({ address, event: transferEvent, fromBlock: 0n })
    for (const { n, recipients } of holders) {
      // The first is the mint.
      const [, ...moves] = logs
        .filter(({ args }) => args.tokenId === BigInt(n + 1))
        .map(({ args }) => args.to)
      for (const to of recipients)
        if (!moves.includes(getAddress(to))) ledger.lost.push(`token ${n} to ${to}`)
      if (moves.join() !== recipients.map((to) => getAddress(to)).join())
        ledger.twice.push(`token ${n} went to ${moves.join()}, and was sent to ${recipients.join()}`)
    }
  } finally {
    await db.close()
  }
}

/** The records of a stopped daemon against the ledger. */
async function compareRecords(dataDir: string, holders: readonly Holder[], ledger: Ledger): Promise<void> {
  const db = await openTestStore(dataDir)
  try {
    for (const { n, taps: answered, redirect: changes } of holders) {
      const uid = String(Number.parseInt(uidOf(n), 16))
      const recorded = new Map<number, number>()
      const taps = await db.read
        .selectFrom('taps')
        .select('counter')
        .where('chipUid', '=', uid)
        .where('outcome', '=', 'valid')
        .execute()
      for (const { counter } of taps) recorded.set(Number(counter), (recorded.get(Number(counter)) ?? 0) + 1)
      for (const counter of answered) if (!recorded.has(counter)) ledger.lost.push(`tap ${counter} of ${n}`)
      for (const [counter, times] of recorded) if (times > 1) ledger.twice.push(`tap ${counter} of ${n}`)
      // Of those that were asked for after the last answer, any may have happened.
      const chip = await db.read
        .selectFrom('chips')
        .select('redirectUrl')
        .where('uid', '=', uid)
        .executeTakeFirst()
      const is = String(chip?.redirectUrl)
      const change = Number(is.split('/').at(-1))
      if (is !== redirectOf(n, change) || change < changes.answered || change > changes.asked)
        ledger.lost.push(`redirect of ${n}: ${is}, after ${changes.answered} of ${changes.asked}`)
    }
  } finally {
    await db.close()
  }
}
