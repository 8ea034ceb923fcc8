// Loaded into a daemon before its own code: SIGUSR2 writes the longest turn of its event loop since the last one, in ms,
// and of all turns the most that one took of the processor, which is the same however many others share the machine.
const { readFileSync, renameSync, writeFileSync } = require('node:fs')
const { monitorEventLoopDelay } = require('node:perf_hooks')

const resolution = 1
const delays = monitorEventLoopDelay({ resolution })
delays.enable()

const cpu = () => Number(readFileSync('/proc/thread-self/schedstat', 'latin1').split(' ', 1)[0]) / 1e6
let before = cpu()
let most = 0
const watch = () => {
  const now = cpu()
  most = Math.max(most, now - before)
  before = now
  setImmediate(watch).unref()
}
if (process.platform === 'linux') watch()

process.on('SIGUSR2', () => {
  const file = process.env.TAPCHIP_BENCH_STALL
  writeFileSync(
    `${file}.new`,
    JSON.stringify({ turn: Math.max(delays.max / 1e6 - resolution, 0), cpu: most }),
  )
  renameSync(`${file}.new`, file)
  delays.reset()
  most = 0
})
