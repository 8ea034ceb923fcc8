// Runs a bundle once, as far as its common path goes, and keeps what V8 compiled on the way.
const { createRequire } = require('node:module')
const { writeFileSync } = require('node:fs')
const { resolve } = require('node:path')

const [name, ...args] = process.argv.slice(2)
const { launch } = require(resolve('dist/launch.cjs'))
const main = resolve(`bin/${name}.js`)

process.argv = [process.argv[0], main, ...args]
let script
process.on('exit', () => {
  writeFileSync(resolve(`dist/${name}.cache`), script.createCachedData())
  // Whether the run itself succeeded does not matter: the CLI's finds no daemon, for one.
  process.exitCode = 0
})
// The cache keeps the name, which is not to be a path of the machine that builds.
script = launch(name, createRequire(main), `${name}.cjs`)
