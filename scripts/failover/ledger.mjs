// What the drill asks for, and what it was answered: written down outside, and compared with what is there in the end.
import { createHash } from 'node:crypto'

/** `Transfer(address,address,uint256)`. */
const transferTopic = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
const requestMs = 30_000

export const uidOf = (n) => `04F0${n.toString(16).padStart(8, '0').toUpperCase()}80`
/** As the store has it. */
const decimalOf = (n) => BigInt(`0x${uidOf(n)}`).toString()
const recipientOf = (n, step) => `0x${createHash('sha256').update(`${n}/${step}`).digest('hex').slice(0, 40)}`

const pause = (ms) => new Promise((done) => setTimeout(done, ms))

async function ask(url, init = {}) {
  try {
    const answer = await fetch(url, { ...init, signal: AbortSignal.timeout(requestMs) })
    return { status: answer.status, text: await answer.text() }
  } catch (error) {
    return { status: 0, text: String(error) }
  }
}

const isValid = ({ text }) => text.includes('"isValidTap":true')
const codeIn = (text) => /"otp":\{"code":"([^"]+)"/.exec(text)?.[1]

export class Ledger {
  #taps
  #counters = new Map()
  /** Taps that were answered valid: where, the query, and when. */
  valid = []
  unanswered = 0
  /** When each daemon gave a good answer, in milliseconds. */
  good = new Map()
  /** Steps of tokens, in their order: a mint, then transfers. */
  moves = []
  /** What contradicts the promise. */
  wrong = []
  statuses = new Map()
  /** Requests without a proper answer, in words. */
  failed = []
  isOver = false

  /** @param taps makes the query strings of chips */
  constructor(taps) {
    this.#taps = taps
  }

  #next(n) {
    const counter = (this.#counters.get(n) ?? 0) + 1
    this.#counters.set(n, counter)
    return { n, counter, query: this.#taps.query(uidOf(n), counter) }
  }

  #count({ status, text }) {
    const code = status < 400 ? '' : (/"code":"([a-z_]+)"/.exec(text)?.[1] ?? '')
    const key = `${status} ${code}`.trim()
    this.statuses.set(key, (this.statuses.get(key) ?? 0) + 1)
    if (status === 0 || status >= 500) this.failed.push(`${key}: ${text.slice(0, 200)}`)
  }

  async #tap(daemon, n) {
    const tap = this.#next(n)
    const answer = await ask(`${daemon}/chips/find?${tap.query}`)
    this.#count(answer)
    if (isValid(answer)) {
      this.valid.push({ ...tap, at: daemon })
      const times = this.good.get(daemon) ?? []
      times.push(performance.now())
      this.good.set(daemon, times)
    } else if (answer.status === 0 || answer.status >= 500) this.unanswered += 1
    else this.wrong.push(`tap ${tap.counter} of ${n}: ${answer.status} ${answer.text.slice(0, 200)}`)
    return answer
  }

  /** Taps at a rate, on chips that nobody else taps, each chip at one daemon after the other. @param perSecond */
  async tapAlong(daemons, { chips, perSecond }) {
    const open = new Map()
    for (let turn = 0; !this.isOver; turn++) {
      const at = performance.now()
      const n = chips[turn % chips.length]
      // A chip is at one phone at a time: an earlier tap that arrives later would be refused rightly.
      if (open.has(n)) {
        await pause(1)
        continue
      }
      const tapping = this.#tap(daemons[turn % daemons.length], n).finally(() => open.delete(n))
      open.set(n, tapping)
      await pause(Math.max(0, 1000 / perSecond - (performance.now() - at)))
    }
    await Promise.all(open.values())
  }

  /** One holder: mints one token after another by its chip's tap, and sends each on twice. */
  async moveAlong(daemons, chips) {
    for (const n of chips)
      for (let step = 0; step < 3; step++) {
        if (this.isOver) return
        await this.#move(daemons, n, step)
        await pause(250)
      }
  }

  /** Until it is answered: the same request goes to one daemon after the other. */
  async #move(daemons, n, step) {
    const recipient = recipientOf(n, step)
    let turn = n
    const daemon = () => daemons[turn++ % daemons.length]
    let code
    while (code === undefined) {
      code = codeIn((await this.#tap(daemon(), n)).text)
      if (code === undefined && this.isOver) return
      if (code === undefined) await pause(200)
    }
    const headers = {
      'content-type': 'application/json',
      'x-svc-code': code,
      'idempotency-key': `${n}-${step}`,
    }
    for (;;) {
      const init = { method: 'POST', headers, body: JSON.stringify({ recipient }) }
      const answer = await ask(`${daemon()}/phygitals/transfer/pullable`, init)
      this.#count(answer)
      if (answer.status === 200) break
      if (answer.status >= 400 && answer.status < 500 && answer.status !== 429) {
        this.wrong.push(`step ${step} of token ${n}: ${answer.status} ${answer.text.slice(0, 300)}`)
        return
      }
      await pause(200)
    }
    this.moves.push({ n, step, recipient })
  }

  /** Every tap that was answered valid, once more. */
  async replay(daemons) {
    const left = [...this.valid]
    const work = Array.from({ length: 8 }, async () => {
      for (let tap = left.pop(); tap !== undefined; tap = left.pop()) {
        const other = daemons[(daemons.indexOf(tap.at) + 1) % daemons.length]
        const answer = await ask(`${other}/chips/find?${tap.query}`)
        if (isValid(answer) || answer.status === 0 || answer.status >= 500)
          this.wrong.push(
            `the tap ${tap.counter} of ${tap.n} again: ${answer.status} ${answer.text.slice(0, 100)}`,
          )
      }
    })
    await Promise.all(work)
  }

  /** @param ask SQL on the database */
  async compareTaps(ask) {
    const rows = await ask(`select "chipUid", counter from taps where outcome = 'valid'`)
    const stored = new Map()
    for (const { chipUid, counter } of rows) {
      const key = `${chipUid} ${counter}`
      stored.set(key, (stored.get(key) ?? 0) + 1)
    }
    for (const [key, times] of stored) if (times > 1) this.wrong.push(`tap ${key} is stored ${times} times`)
    for (const { n, counter } of this.valid)
      if (!stored.has(`${decimalOf(n)} ${counter}`))
        this.wrong.push(`tap ${counter} of ${n} was valid, and is lost`)
    return stored.size
  }

  /** @param rpc of the chain */
  async compareChain(rpc) {
    const filter = { fromBlock: '0x0', toBlock: 'latest', topics: [transferTopic] }
    const to = new Map()
    const minted = new Map()
    for (const { topics, address } of await rpc('eth_getLogs', [filter])) {
      const recipient = `0x${topics[2].slice(26)}`
      to.set(recipient, (to.get(recipient) ?? 0) + 1)
      const token = `${address} ${topics[3]}`
      if (/^0x0+$/.test(topics[1])) minted.set(token, (minted.get(token) ?? 0) + 1)
    }
    for (const { n, step, recipient } of this.moves) {
      const times = to.get(recipient) ?? 0
      if (times !== 1)
        this.wrong.push(`step ${step} of token ${n} was answered, and is on the chain ${times} times`)
    }
    for (const [recipient, times] of to)
      if (times > 1) this.wrong.push(`${recipient} got a token ${times} times`)
    for (const [token, times] of minted) if (times > 1) this.wrong.push(`${token} was minted ${times} times`)
    return { moved: to.size, minted: minted.size }
  }
}
