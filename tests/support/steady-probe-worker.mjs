import { readFileSync } from 'node:fs'
import { Agent, get } from 'node:http'
import { parentPort, workerData } from 'node:worker_threads'

// In a thread of its own: what the test itself does must not look like a stall of the daemon.

const { urls, repeat, everyMs, pid } = workerData
const agent = new Agent({ keepAlive: true, maxSockets: 64 })
const probes = []
const open = new Set()
let sent = 0

/** How long the system has kept a thread waiting for a core, in ms; 0 where it does not say. */
function waited(thread) {
  try {
    return Number(readFileSync(`/proc/${thread}/schedstat`, 'utf8').split(' ')[1]) / 1e6
  } catch {
    return 0
  }
}
const waitedBoth = () => waited('thread-self') + waited(pid)

function probe(url) {
  const at = Date.now()
  const began = performance.now()
  const waitedBefore = waitedBoth()
  const answered = new Promise((resolve) => {
    const end = (status) => {
      probes.push({ at, ms: performance.now() - began, waitedMs: waitedBoth() - waitedBefore, status })
      resolve()
    }
    const call = get(url, { agent }, (answer) => {
      answer.resume()
      answer.on('end', () => end(answer.statusCode))
      answer.on('error', () => end(0))
    })
    call.setTimeout(60_000, () => call.destroy())
    call.on('error', () => end(0))
  })
  open.add(answered)
  void answered.then(() => open.delete(answered))
}

const timer = setInterval(() => {
  if (repeat || sent < urls.length) probe(urls[sent++ % urls.length])
}, everyMs)

parentPort.once('message', async () => {
  clearInterval(timer)
  await Promise.all(open)
  agent.destroy()
  parentPort.postMessage(probes)
})
