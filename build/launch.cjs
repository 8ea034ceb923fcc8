// Starts a bundle with the code that V8 compiled for it when it was built: half of a command's time is compiling.
// A cache of another version of Node is refused by V8 itself, and the bundle is then compiled as usual.
const { readFileSync } = require('node:fs')
const { wrap } = require('node:module')
const { Script, constants } = require('node:vm')

/** @returns the bundle as a script, and where it lies @param called how stack traces name it */
function load(name, called) {
  const filename = `${__dirname}/${name}.cjs`
  const options = {
    filename: called ?? filename,
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  }
  const cachedData = cacheOf(name)
  const script = new Script(
    // The build leaves nothing but ASCII, which V8 takes as it is.
    wrap(readFileSync(filename, 'latin1')),
    cachedData ? { ...options, cachedData } : options,
  )
  return { filename, script }
}

function cacheOf(name) {
  try {
    return readFileSync(`${__dirname}/${name}.cache`)
  } catch {
    return undefined
  }
}

/** Runs a bundle as the main module that `require` belongs to. */
function launch(name, require, called) {
  const { filename, script } = load(name, called)
  const module = { exports: {} }
  script.runInThisContext()(module.exports, require, module, filename, __dirname)
  return script
}

module.exports = { launch }
