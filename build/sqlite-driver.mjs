// The driver of SQLite that fits this Node: better-sqlite3 12 aborts on Node 24, 13 needs Node 22. Where npm installs
// the package, it chooses by their engines; the lock file of a clone can name one alone, which is 12, so 13 lies beside
// it as better-sqlite3-13 and takes its place here.
import { cpSync, existsSync, readFileSync, renameSync, rmSync } from 'node:fs'

const place = 'node_modules/better-sqlite3'
const newer = 'node_modules/better-sqlite3-13'

const versionIn = (folder) => JSON.parse(readFileSync(`${folder}/package.json`, 'utf8')).version

/** Run in the folder of the package. */
export function chooseSqliteDriver() {
  const major = Number(process.versions.node.split('.')[0])
  if (major < 22 || !existsSync(newer) || !existsSync(place) || versionIn(place) === versionIn(newer)) return
  // Whole or not at all: whoever is stopped in between has either one.
  const incoming = `${place}.new`
  rmSync(incoming, { recursive: true, force: true })
  cpSync(newer, incoming, { recursive: true })
  rmSync(place, { recursive: true })
  renameSync(incoming, place)
}
