// Taps, one after another, each timed. A child process: { op: 'start', port, paths }, then { op: 'stop' } comes in.
import { Agent, get } from 'node:http'

const agent = new Agent({ keepAlive: true, maxSockets: 1 })
let paths = []
let tapping

function tap(port, path) {
  return new Promise((resolve, reject) => {
    const begun = performance.now()
    get({ host: '127.0.0.1', port, path, agent }, (answer) => {
      let text = ''
      answer.on('data', (chunk) => {
        text += chunk
      })
      answer.on('end', () =>
        resolve({ ms: performance.now() - begun, isValid: text.includes('"isValidTap":true') }),
      )
    }).on('error', reject)
  })
}

async function tapUntilStopped(port) {
  const seen = { waits: [], wrong: 0 }
  while (tapping.goesOn && paths.length > 0) {
    const { ms, isValid } = await tap(port, paths.pop())
    seen.waits.push(ms)
    if (!isValid) seen.wrong += 1
  }
  return seen
}

const ops = {
  prepare(message) {
    paths = message.paths
    return {}
  },
  start({ port }) {
    tapping = { goesOn: true }
    tapping.seen = tapUntilStopped(port)
    return {}
  },
  async stop() {
    tapping.goesOn = false
    const { waits, wrong } = await tapping.seen
    waits.sort((one, other) => one - other)
    return {
      taps: waits.length,
      wrong,
      longest: waits.at(-1),
      p99: waits[Math.floor(waits.length * 0.99)],
      left: paths.length,
    }
  },
}

process.on('message', async (message) => {
  try {
    process.send(await ops[message.op](message))
  } catch (error) {
    process.send({ error: String(error?.stack ?? error) })
  }
})
process.on('disconnect', () => process.exit(0))
