// Loaded into a daemon before its own code: SIGUSR2 starts a CPU profile, a second one writes it.
const { writeFileSync } = require('node:fs')
const { Session } = require('node:inspector')

let session

function start() {
  session = new Session()
  session.connect()
  session.post('Profiler.enable')
  session.post('Profiler.setSamplingInterval', { interval: 300 })
  session.post('Profiler.start')
}

function stop() {
  const ending = session
  session = undefined
  ending.post('Profiler.stop', (_error, { profile }) => {
    writeFileSync(process.env.TAPCHIP_BENCH_PROFILE, JSON.stringify(profile))
    ending.disconnect()
  })
}

process.on('SIGUSR2', () => (session === undefined ? start() : stop()))
