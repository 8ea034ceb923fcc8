// Writes the help of each command as pipes and wide terminals show it, so that nothing has to be loaded to show it.
import { mkdirSync, writeFileSync } from 'node:fs'
import { build } from 'esbuild'

/** Of pipes, and the most that the CLI uses of a terminal; known to launch.cjs as well. */
const widths = [100, 120]

/** @param options of the bundle of the CLI */
export async function writeHelp(options) {
  const tree = await program(options)
  const [narrow, wide] = await Promise.all(widths.map((columns) => helps(tree, columns)))
  for (const width of widths) mkdirSync(`dist/help/${width}`, { recursive: true })
  for (const [name, text] of narrow) {
    writeFileSync(`dist/help/${widths[0]}/${name}.txt`, text)
    const other = wide.get(name)
    if (other !== text) writeFileSync(`dist/help/${widths[1]}/${name}.txt`, other)
  }
}

async function helps({ createProgram, attachVerbs, nouns }, columns) {
  const shown = new Map()
  let text = ''
  const stdout = { isTTY: true, columns, write: (more) => (text += more) }
  const root = createProgram({ stdout, stderr: stdout, env: {} })
  const show = (command, path) => {
    text = ''
    command.outputHelp()
    shown.set(path.join('.'), text)
  }
  const showAll = (commands, path) => {
    for (const command of commands) {
      show(command, [...path, command.name()])
      showAll(command.commands, [...path, command.name()])
    }
  }
  // Nothing is loaded for the first one, and what is loaded gives longer summaries.
  show(root, ['tapchip'])
  for (const noun of nouns) {
    const command = root.commands.find((one) => one.name() === noun.name)
    if (command) await attachVerbs(command, noun, async () => undefined)
  }
  showAll(root.commands, ['tapchip'])
  return shown
}

/** The sources are TypeScript, so they are bundled before they can be imported. */
async function program(options) {
  const { outputFiles } = await build({
    ...options,
    stdin: {
      contents: "export { attachVerbs, createProgram, nouns } from './src/cli/program.ts'",
      resolveDir: process.cwd(),
    },
    write: false,
    sourcemap: false,
  })
  const module = { exports: {} }
  const { createRequire } = await import('node:module')
  const file = `${process.cwd()}/dist/tapchip.cjs`
  new Function('module', 'exports', 'require', '__filename', '__dirname', outputFiles[0].text)(
    module,
    module.exports,
    createRequire(file),
    file,
    `${process.cwd()}/dist`,
  )
  return module.exports
}
