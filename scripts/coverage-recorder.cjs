// Loaded into an executable before it starts (`node --require`): says over IPC, whenever it is asked, which functions of
// its bundle have run since it was last asked. One that ends says it unasked.
const { basename } = require('node:path')
const { Session } = require('node:inspector')

const session = new Session()
session.connect()
session.post('Profiler.enable')
session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })

/** Offsets, in characters of the bundle, at which functions begin that have run. The bundle and its wrapper are none. */
function functionsRun() {
  let offsets = []
  session.post('Profiler.takePreciseCoverage', (error, coverage) => {
    if (error) throw new Error(error.message)
    offsets = coverage.result
      .filter(({ url }) => basename(url) === `${basename(process.argv[1], '.js')}.cjs`)
      .flatMap(({ functions }) => functions)
      // esbuild puts a module that is loaded on demand into a function named after its file: loading is no use yet.
      .filter(({ functionName }) => !functionName.includes('/'))
      .map(({ ranges: [whole] }) => whole)
      .filter(({ count, startOffset }) => count > 0 && startOffset > 1)
      .map(({ startOffset }) => startOffset)
  })
  return offsets
}

process.on('message', () => process.send(functionsRun()))
process.channel.unref()
process.on('exit', () => process.send(functionsRun()))
