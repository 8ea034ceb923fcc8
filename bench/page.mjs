// node bench/page.mjs FILE…: puts what `npm run bench -- --json` printed on docs/performance.md, with its plots; of
// several files, the later ones replace what they measured again. `npm run bench -- --page` does so with what it measures.
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { plotsOf } from './lib/page-plots.mjs'
import { tablesOf } from './lib/page-tables.mjs'

const docs = new URL('../docs/', import.meta.url)
/** What the page shows, for machines. */
const kept = new URL('performance.json', docs)
const page = new URL('performance.md', docs)

const read = (file) => JSON.parse(readFileSync(file, 'utf8'))

/** The page's text with each measured part in its place, which is between `<!-- name -->` and `<!-- /name -->`. */
export function pageWith(text, report) {
  let filled = text
  for (const [name, part] of Object.entries(tablesOf(report))) {
    const [start, end] = [`<!-- ${name} -->`, `<!-- /${name} -->`]
    const [from, to] = [filled.indexOf(start), filled.indexOf(end)]
    if (from < 0 || to < from) throw new Error(`The page has no place for ${name}: ${start} … ${end}`)
    filled = `${filled.slice(0, from + start.length)}\n${part}\n${filled.slice(to)}`
  }
  return filled
}

/** A run of a part takes the place of that part. What another machine measured does not stand beside it. */
export function merged(before, after) {
  if (before === undefined || before.machine !== after.machine) return after
  const again = new Set(after.figures.map(({ figure }) => figure))
  const figures = [...before.figures.filter(({ figure }) => !again.has(figure)), ...after.figures]
  const failed = figures.filter(({ error }) => error !== undefined).length
  return { ...after, seconds: undefined, failed, figures: figures.sort(byFigure) }
}

const byFigure = (one, other) => (one.figure < other.figure ? -1 : one.figure > other.figure ? 1 : 0)

function keptReport() {
  try {
    return read(kept)
  } catch (error) {
    if (error.code === 'ENOENT') return undefined
    throw error
  }
}

/** Without stacks, which say where the bench lay. */
const shortened = (figure) =>
  figure.error === undefined ? figure : { ...figure, error: figure.error.split('\n')[0] }

/** @throws where the results are of a short run, or the page has no place for a part of them */
export function writePage(report) {
  if (report.isQuick) throw new Error('The page takes more than --quick measures.')
  const whole = merged(keptReport(), { ...report, figures: report.figures.map(shortened) })
  const text = pageWith(readFileSync(page, 'utf8'), whole)
  writeFileSync(kept, `${JSON.stringify(whole, null, 2)}\n`)
  writeFileSync(page, text)
  for (const [name, svg] of Object.entries(plotsOf(whole)))
    writeFileSync(new URL(`images/${name}.svg`, docs), svg)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const files = process.argv.slice(2)
  if (files.length === 0) {
    process.stderr.write('node bench/page.mjs FILE…: which results go on the page?\n')
    process.exit(2)
  }
  for (const file of files) writePage(read(file))
}
