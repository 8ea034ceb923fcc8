// The load: many connections over which requests go as fast as they are answered. Written on sockets, since a
// client that takes longer over a request than the server does cannot saturate it.
// A child process: first { op: 'prepare', paths, once }, then { op: 'run', port, connections, seconds, status, expect } comes in;
// or { op: 'begin', port, rate, expect }, and later { op: 'finish' }, for a steady rate whatever the answers take.
import { connect } from 'node:net'

const head = (path) => `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`
const nothing = Buffer.alloc(0)
const endOfHead = Buffer.from('\r\n\r\n')

/** Requests in turn; `once` ones run out. */
function requestsOf({ paths, once }) {
  let next = 0
  const take = () => {
    if (next === paths.length) {
      if (once) return undefined
      next = 0
    }
    return head(paths[next++])
  }
  return { take, used: () => next }
}

/** Where an answer ends in what has arrived, or undefined while it is not whole. */
function endOfAnswer(data) {
  const at = data.indexOf(endOfHead)
  if (at < 0) return undefined
  const length = /\ncontent-length: (\d+)/i.exec(data.latin1Slice(0, at))?.[1]
  if (length === undefined) throw new Error(`An answer without a length: ${data.latin1Slice(0, at)}`)
  const end = at + endOfHead.length + Number(length)
  return data.length >= end ? end : undefined
}

/** One connection: a request, its answer, the next request, until nothing is left or the time is over. */
function drive(port, requests, { until, status, expect, count, settled }) {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    let pending = nothing
    let sentAt = 0
    let isFirst = true
    const send = () => {
      const request = Date.now() < until() ? requests.take() : undefined
      if (request === undefined) {
        socket.end()
        return
      }
      sentAt = performance.now()
      socket.write(request, 'latin1')
    }
    socket.on('connect', send)
    socket.on('data', (data) => {
      pending = pending.length === 0 ? data : Buffer.concat([pending, data])
      try {
        const end = endOfAnswer(pending)
        if (end === undefined) return
        count(
          pending.latin1Slice(9, 12) === status && (expect === undefined || pending.includes(expect)),
          pending,
          performance.now() - sentAt,
        )
        pending = pending.subarray(end)
        if (isFirst) settled(send)
        else send()
        isFirst = false
      } catch (error) {
        socket.destroy(error)
      }
    })
    socket.on('error', reject)
    socket.on('close', resolve)
  })
}

/**
 * Holds connections until each has had an answer. Node accepts one connection between two rounds over those that are
 * open: without this the last of hundreds would wait for seconds, behind those that ask again and again.
 * @param begin called before they go on
 */
function barrier(count, begin) {
  const waiting = []
  return (go) => {
    waiting.push(go)
    if (waiting.length < count) return
    begin()
    for (const next of waiting) next()
  }
}

/**
 * Asks for news all the time instead of sleeping until there are some: otherwise a server pays with each answer for
 * waking the other core, which on a virtual machine costs more than the answer, and the slower the server, the more
 * often it pays.
 */
function stayAwake() {
  let isAwake = true
  const ask = () => {
    if (isAwake) setImmediate(ask)
  }
  ask()
  return () => {
    isAwake = false
  }
}

let requests

function prepare(list) {
  requests = requestsOf(list)
  return {}
}

async function run({ port, connections, seconds, status = '200', expect }) {
  let start
  let deadline = Number.POSITIVE_INFINITY
  let answered = 0
  let wrong = 0
  let sample
  const latencies = []
  const settled = barrier(connections, () => {
    start = performance.now()
    deadline = Date.now() + seconds * 1000
  })
  const count = (isRight, data, ms) => {
    answered++
    if (start !== undefined) latencies.push(ms)
    if (isRight) return
    wrong++
    sample ??= `after ${Math.round(ms)} ms ${data.subarray(0, 600).latin1Slice()}`
  }
  const options = { until: () => deadline, status, expect, count, settled }
  const rest = stayAwake()
  try {
    await Promise.all(Array.from({ length: connections }, () => drive(port, requests, options)))
  } finally {
    rest()
  }
  const elapsed = (performance.now() - start) / 1000
  return { answered, wrong, sample, rate: latencies.length / elapsed, used: requests.used(), latencies }
}

let steady

/**
 * So many requests a second from now on. Each goes on a connection that waits for nothing else, so that a slow answer
 * holds no other request back: what was not asked while a server stood still would not be missed.
 */
function begin({ port, rate, expect }) {
  const idle = []
  const open = new Set()
  const latencies = []
  let [sent, wrong, late] = [0, 0, 0]
  let sample
  const connection = () => {
    const one = { socket: connect({ port, host: '127.0.0.1', noDelay: true }), pending: nothing, sentAt: 0 }
    const fail = (why) => {
      if (!open.delete(one)) return
      wrong++
      sample ??= String(why)
    }
    one.socket.on('data', (data) => {
      one.pending = one.pending.length === 0 ? data : Buffer.concat([one.pending, data])
      const end = endOfAnswer(one.pending)
      if (end === undefined) return
      latencies.push(performance.now() - one.sentAt)
      const isRight = one.pending.latin1Slice(9, 12) === '200' && one.pending.includes(expect)
      if (isRight) open.delete(one)
      else fail(one.pending.subarray(0, 600).latin1Slice())
      one.pending = nothing
      idle.push(one)
    })
    one.socket.on('error', fail)
    one.socket.on('close', () => {
      fail('the connection was closed')
      const at = idle.indexOf(one)
      if (at >= 0) idle.splice(at, 1)
    })
    return one
  }
  const started = performance.now()
  const send = () => {
    for (; started + (sent * 1000) / rate <= performance.now(); sent++) {
      const request = requests.take()
      if (request === undefined) return
      late = Math.max(late, performance.now() - started - (sent * 1000) / rate)
      const one = idle.pop() ?? connection()
      open.add(one)
      one.sentAt = performance.now()
      one.socket.write(request, 'latin1')
    }
  }
  const timer = setInterval(send, 1)
  steady = async () => {
    clearInterval(timer)
    const patience = performance.now() + 20_000
    while (open.size > 0 && performance.now() < patience) await new Promise((done) => setTimeout(done, 5))
    for (const one of open) one.socket.destroy()
    for (const { socket } of idle) socket.destroy()
    return { latencies, sent, wrong: wrong + open.size, late, sample }
  }
  return {}
}

const finish = () => steady()

process.on('message', async (message) => {
  try {
    process.send(await { prepare, run, begin, finish }[message.op](message))
  } catch (error) {
    process.send({ error: String(error?.stack ?? error) })
  }
})
process.on('disconnect', () => process.exit(0))
