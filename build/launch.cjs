// Starts a bundle with the code that V8 compiled for it when it was built: half of a command's time is compiling.
// A cache of another version of Node is refused by V8 itself, and the bundle is then compiled as usual.
const { fstatSync, readFileSync, writeSync } = require('node:fs')
const { Script, constants } = require('node:vm')

/** @returns the bundle as a script, and where it lies @param called how stack traces name it */
function load(name, called) {
  const filename = `${__dirname}/${name}.cjs`
  const options = {
    filename: called ?? filename,
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  }
  const cachedData = read(`${name}.cache`)
  const script = new Script(readFileSync(filename, 'utf8'), cachedData ? { ...options, cachedData } : options)
  return { filename, script }
}

function read(file) {
  try {
    return readFileSync(`${__dirname}/${file}`)
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

/**
 * Shows the help of a command as it was when this was built: in less than a tenth of the time that loading it takes.
 * @returns false if it has to be made, for a narrow terminal or another command
 */
function showHelp(args) {
  const text = helpOf(args)
  if (text === undefined) return false
  try {
    for (let written = 0; written < text.length; ) written += writeSync(1, text, written)
  } catch (error) {
    // Nobody reads on. All else is for the program to say.
    return error.code === 'EPIPE'
  }
  return true
}

function helpOf(args) {
  const asked = args.at(-1)
  const path = args.slice(0, -1)
  if ((asked !== '--help' && asked !== '-h') || !path.every((name) => /^[a-z][a-z-]*$/.test(name)))
    return undefined
  const name = ['tapchip', ...path].join('.')
  const columns = isTerminal(1) ? process.stdout.columns : 100
  if (!(columns >= 100)) return undefined
  // Only where a wider terminal shows another text.
  const wide = columns > 100 ? read(`help/120/${name}.txt`) : undefined
  return columns < 120 && wide ? undefined : (wide ?? read(`help/100/${name}.txt`))
}

function isTerminal(file) {
  try {
    // Nothing else is one, and Node's own question loads all that terminals need.
    return fstatSync(file).isCharacterDevice() && require('node:tty').isatty(file)
  } catch {
    // It is closed, which writing to it tells.
    return false
  }
}

module.exports = { launch, showHelp }
