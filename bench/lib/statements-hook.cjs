// Loaded into a daemon before its own code: from SIGUSR2 on it notes what SQLite is told to do, and a second one writes
// that to a file, as [{ sql, values, answer }].
const { renameSync, writeFileSync } = require('node:fs')
const Database = require('better-sqlite3')

let noted

const memory = new Database(':memory:')
const statements = Object.getPrototypeOf(memory.prepare('select 1'))
memory.close()
for (const method of ['run', 'get', 'all']) {
  const original = statements[method]
  statements[method] = function (...given) {
    const answer = original.apply(this, given)
    noted?.push({ sql: this.source, values: given.flat(), answer })
    return answer
  }
}

process.on('SIGUSR2', () => {
  if (noted === undefined) {
    noted = []
    return
  }
  const file = process.env.TAPCHIP_BENCH_STATEMENTS
  writeFileSync(`${file}.new`, JSON.stringify(noted))
  renameSync(`${file}.new`, file)
  noted = undefined
})
