import { createHash } from 'node:crypto'
import type { Client } from 'pg'
import { uidFromBytes } from '../../src/nfc/uid.ts'
import { acmeKey, derived } from './seeds.ts'
import { tap, tapPath } from './taps.ts'

// Clients that do what they are told, and write down what they were told: compared in the end with what there is.

const requestMs = 60_000
const known = ['store_unavailable', 'store_full', 'outcome_unknown', 'chain_unavailable']
const pause = (ms: number) => new Promise((done) => setTimeout(done, ms))

interface Answer {
  /** 0: there was none. */
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: the answers of several endpoints
  body: any
}

/** What is known of a request after all its answers. */
interface Standing {
  /** An answer said that it was done. */
  isDone: boolean
  /** An answer said that it may have been done, or there was none. */
  isDoubtful: boolean
  transactionId: number | undefined
}

interface Move extends Standing {
  recipient: string
  kind: Kind
  said: string[]
}

type Kind = 'keyed' | 'plain' | 'code'
const kinds: readonly Kind[] = ['keyed', 'plain', 'code']

export const tapUid = (n: number): string => `04D0${n.toString(16).padStart(8, '0').toUpperCase()}80`
export const moveUid = (n: number): string => `04D1${n.toString(16).padStart(8, '0').toUpperCase()}80`
const decimal = (uid: string): string => uidFromBytes(Buffer.from(uid, 'hex'))
const recipientOf = (run: number, n: number): string =>
  `0x${createHash('sha256').update(`${run}/${n}`).digest('hex').slice(0, 40)}`

function grouped<T>(all: readonly T[], keyOf: (one: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const one of all) groups.set(keyOf(one), [...(groups.get(keyOf(one)) ?? []), one])
  return groups
}

export class Ledger {
  readonly #urls: readonly string[]
  readonly #run: number
  readonly #counters = new Map<string, number>()
  #turn = 0
  /** Taps that were answered valid. */
  readonly valid: string[] = []
  readonly moves: Move[] = []
  /** Answers, by status and code. */
  readonly answers = new Map<string, number>()
  /** What contradicts the promise. */
  readonly wrong: string[] = []

  /** @param run its number, so that runs on one chain differ */
  constructor(urls: readonly string[], run: number) {
    this.#urls = urls
    this.#run = run
  }

  async #ask(path: string, init: RequestInit = {}): Promise<Answer> {
    this.#turn += 1
    const url = `${this.#urls[this.#turn % this.#urls.length]}${path}`
    const answer: Answer = await fetch(url, { ...init, signal: AbortSignal.timeout(requestMs) })
      .then(async (response) => ({ status: response.status, body: await response.json() }))
      .catch(() => ({ status: 0, body: undefined }))
    const key =
      answer.status < 300 ? String(answer.status) : `${answer.status} ${answer.body?.code ?? ''}`.trim()
    this.answers.set(key, (this.answers.get(key) ?? 0) + 1)
    const { code, message } = answer.body ?? {}
    if (answer.status >= 500 && !known.includes(code))
      this.wrong.push(`${path.split('?')[0]}: ${answer.status} ${code}: ${message}`)
    return answer
  }

  #next(uid: string): Record<string, string> {
    const counter = (this.#counters.get(uid) ?? 0) + 1
    this.#counters.set(uid, counter)
    return tap(derived, { uid }, counter)
  }

  /** One tap of a chip, again until it is answered. @returns its code, if the chip carries something */
  async tap(uid: string): Promise<string | undefined> {
    const path = tapPath(this.#next(uid), '/chips/find')
    const name = `${decimal(uid)} ${this.#counters.get(uid)}`
    let isDoubtful = false
    const said: string[] = []
    for (;;) {
      const { status, body } = await this.#ask(path)
      said.push(`${status} ${body?.code ?? body?.isValidTap ?? ''}: ${body?.message ?? ''}`)
      if (status === 200) {
        if (body.isValidTap) this.valid.push(name)
        else if (!isDoubtful)
          this.wrong.push(`tap ${name} is used up, and no answer said that it may be: ${said.join(' | ')}`)
        return body.otp?.code
      }
      if (status !== 0 && status !== 503) this.wrong.push(`tap ${name}: ${status} ${body?.message}`)
      // "Nothing was changed; try again", or that it may have been used up.
      if (status === 0 || body?.code === 'outcome_unknown') isDoubtful = true
      else if (!known.includes(body?.code)) return undefined
      await pause(200)
    }
  }

  /** A chip's token goes to a new owner. A third each has an Idempotency-Key, has none, and is by a code. */
  async move(chip: number, step: number): Promise<void> {
    const n = this.moves.length
    const kind = kinds[(chip + step) % kinds.length] ?? 'plain'
    const recipient = recipientOf(this.#run, n)
    const move: Move = {
      recipient,
      kind,
      isDone: false,
      isDoubtful: false,
      transactionId: undefined,
      said: [],
    }
    this.moves.push(move)
    const uid = moveUid(chip)
    const code = kind === 'code' ? await this.#codeOf(uid) : undefined
    const path = code === undefined ? '/phygitals/transfer/self-service' : '/phygitals/transfer/pullable'
    const init = {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(code === undefined ? { 'x-svc-api-key': acmeKey } : { 'x-svc-code': code }),
        ...(kind === 'keyed' ? { 'idempotency-key': `${this.#run}-${n}` } : {}),
      },
      body: JSON.stringify({ recipient, ...(code === undefined ? { tagUID: decimal(uid) } : {}) }),
    }
    for (;;) {
      const { status, body } = await this.#ask(path, init)
      move.said.push(`${status} ${body?.code ?? ''} ${body?.transactionId ?? ''} ${body?.message ?? ''}`)
      if (await this.#isOver(move, { status, body })) return
      await pause(250)
    }
  }

  async #codeOf(uid: string): Promise<string> {
    for (;;) {
      const code = await this.tap(uid)
      if (code !== undefined) return code
    }
  }

  /** Does as the words say. */
  async #isOver(move: Move, { status, body }: Answer): Promise<boolean> {
    const { kind } = move
    const { code = '', message = '', transactionId } = body ?? {}
    if (status === 200) {
      move.isDone = true
      return true
    }
    if (kind !== 'keyed' && /Idempotency-Key/.test(message)) this.wrong.push(`without a key, but: ${message}`)
    // Nobody said anything: with a key, or a code, it may be sent again, which takes effect once.
    if (status === 0) {
      move.isDoubtful = true
      return kind === 'plain'
    }
    if (code === 'otp_used' || code === 'otp_expired' || code === 'otp_deleted') {
      if (code === 'otp_used' && !move.isDoubtful)
        this.wrong.push(`the code is used, and no answer said that it may be: ${move.said.join(' | ')}`)
      return true
    }
    if (code === 'outcome_unknown' || (code === 'chain_unavailable' && transactionId !== undefined)) {
      move.isDoubtful = true
      if (kind !== 'plain') return false
      if (transactionId === undefined) return true
      const isThere = await this.#isThere(transactionId)
      if (isThere) Object.assign(move, { isDone: true, transactionId })
      else if (/is recorded/.test(message)) this.wrong.push(`${message} It is not there.`)
      return isThere
    }
    if (known.includes(code) || code === 'token_taken') return false
    this.wrong.push(`a move by ${kind}: ${move.said.join(' | ')}`)
    return true
  }

  /** Looks where the message says. */
  async #isThere(id: number): Promise<boolean> {
    for (;;) {
      const { status } = await this.#ask(`/transactions/${id}`, { headers: { 'x-svc-api-key': acmeKey } })
      if (status === 200 || status === 404) return status === 200
      await pause(250)
    }
  }

  /** What was answered, and what the database and the chain hold. @param rpc of the chain */
  async compare(direct: Client, rpc: (method: string, params: unknown[]) => Promise<unknown>) {
    const lost: string[] = []
    const doubled: string[] = []
    const { rows: taps } = await direct.query<{ name: string; times: string }>(
      `select "chipUid" || ' ' || counter as name, count(*) as times from taps where outcome = 'valid' group by 1`,
    )
    const timesOf = new Map(taps.map(({ name, times }) => [name, Number(times)]))
    for (const [name, times] of timesOf) if (times > 1) doubled.push(`tap ${name}`)
    for (const name of this.valid) if (!timesOf.has(name)) lost.push(`tap ${name}`)
    const seen = new Set<string>()
    for (const name of this.valid) {
      if (seen.has(name)) doubled.push(`tap ${name} was answered valid twice`)
      seen.add(name)
    }
    const { rows: sent } = await direct.query<{ id: string; recipient: string; state: string }>(
      `select id, lower(subject::json ->> 'recipient') as recipient, state from transactions where subject::json ->> 'recipient' is not null`,
    )
    const byRecipient = grouped(sent, ({ recipient }) => recipient)
    const transfer = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
    const filter = { fromBlock: '0x0', toBlock: 'latest', topics: [transfer] }
    const logs = (await rpc('eth_getLogs', [filter])) as { topics: string[] }[]
    const mined = grouped(logs, ({ topics }) => `0x${topics[2]?.slice(26)}`)
    for (const move of this.moves) {
      const made = byRecipient.get(move.recipient) ?? []
      const times = mined.get(move.recipient)?.length ?? 0
      const said = `${move.kind}: ${move.said.join(' | ')}`
      if (made.length > 1 || times > 1)
        doubled.push(`${made.map(({ id }) => id)} on the chain ${times} times, ${said}`)
      if (move.isDone && times !== 1)
        lost.push(`${made.map(({ id, state }) => `${id} ${state}`)} ${times} times, ${said}`)
      if (!move.isDone && !move.isDoubtful && made.length > 0)
        this.wrong.push(`recorded as ${made[0]?.id}, but ${said}`)
      const isNamed =
        move.transactionId === undefined || made.length === 0 || Number(made[0]?.id) === move.transactionId
      if (!isNamed) this.wrong.push(`recorded as ${made[0]?.id}, but ${said}`)
      if (
        move.kind === 'plain' &&
        made.length > 0 &&
        !move.isDone &&
        !/ 0 |^0 /.test(said) &&
        move.transactionId === undefined
      )
        this.wrong.push(`recorded as ${made[0]?.id}, which no answer names: ${said}`)
    }
    return {
      lost,
      doubled,
      wrong: this.wrong,
      recorded: { taps: taps.length, moves: sent.length, mined: logs.length },
    }
  }
}
